/**
 * Sends one request in a loop until its input ends, in its own process, so that it does not delay the load's clock. With a
 * body it uses POST. Prints the number of responses.
 */
import { Agent, request } from 'undici';

const [url = '', token = '', posted] = process.argv.slice(2);
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
    method: posted === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: posted ?? null,
  });
  await body.dump({ limit: 10_000_000 });
  if (statusCode !== 200) throw new Error(`${url} returned ${statusCode}`);
  answered += 1;
}
await agent.close();
console.log(answered);
