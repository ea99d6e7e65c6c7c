/**
 * Asks one question in a loop until its input ends, in a process of its own: it must not delay the load's clock.
 * With a body it is posted. Prints how many answers it got.
 */
import { Agent, request } from 'undici';

const [url = '', token = '', asked] = process.argv.slice(2);
const agent = new Agent({ connections: 1 });
let running = true;
let answered = 0;
process.stdin.on('end', () => {
  running = false;
});
process.stdin.resume();
while (running) {
  const { statusCode, body } = await request(url, {
    dispatcher: agent,
    method: asked === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: asked ?? null,
  });
  await body.dump({ limit: 10_000_000 });
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  answered += 1;
}
await agent.close();
console.log(answered);
