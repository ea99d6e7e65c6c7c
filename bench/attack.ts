/**
 * Sends requests that a receiver refuses over many connections until its input ends, in its own process, so that it does
 * not delay the load's clock. Prints the number of refusals per second.
 */
import { connect } from 'node:net';
import { ATTACKS } from './attacks.ts';

const [port = '', name = '', connections = ''] = process.argv.slice(2);
const request = ATTACKS.find((attack) => attack.name === name)?.request();
if (request === undefined) throw new Error(`${name} is no attack`);
const REFUSED = 'HTTP/1.1 401';
let running = true;
let refused = 0;
process.stdin.on('end', () => {
  running = false;
});
process.stdin.resume();

/** Closed loop: the next request follows the previous response. */
async function attack(): Promise<void> {
  const socket = connect(Number(port), '127.0.0.1').setNoDelay(true);
  socket.write(request as Buffer);
  for await (const response of socket) {
    if (!String(response).startsWith(REFUSED)) throw new Error(`${name} got ${response}`);
    refused += 1;
    if (!running) return;
    socket.write(request as Buffer);
  }
  throw new Error('the server closed a connection');
}

const began = performance.now();
await Promise.all(Array.from({ length: Number(connections) }, attack));
console.log((refused * 1_000) / (performance.now() - began));
