/** Asks the ledger in a loop until its input ends, in a process of its own: it must not delay the load's clock. */
import { Agent, request } from 'undici';

const [url = '', token = ''] = process.argv.slice(2);
const agent = new Agent({ connections: 1 });
let running = true;
let answered = 0;
process.stdin.on('end', () => {
  running = false;
});
process.stdin.resume();
while (running) {
  const { statusCode, body } = await request(`${url}/v1/deductions?limit=100&on=2026-06-30`, {
    dispatcher: agent,
    headers: { authorization: `Bearer ${token}` },
  });
  await body.dump({ limit: 10_000_000 });
  if (statusCode !== 200) throw new Error(`the ledger query answered ${statusCode}`);
  answered += 1;
}
await agent.close();
console.log(answered);
