/** Load over plain sockets, because a client library would cost more than the measured server. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

export type Latencies = { perSecond: number; p50: number; p99: number; worst: number; refused: number };

const STATUS_CLASS_AT = 'HTTP/1.1 '.length;
const DIGIT_2 = 0x32;

type Load = {
  /** The number of requests with a response so far. */
  answered(): number;
  readonly done: Promise<Latencies>;
};

/**
 * Closed loop: each connection sends its next request after the previous response. Connections are spread evenly over
 * the ports.
 */
export function closedLoop(ports: readonly number[], requests: readonly Buffer[], connections: number): Load {
  const times = new Float64Array(requests.length);
  let next = 0;
  let answered = 0;
  let refused = 0;
  const done = Promise.withResolvers<void>();
  const began = performance.now();
  for (let count = 0; count < connections; count += 1) {
    const socket = connect(ports[count % ports.length] as number, '127.0.0.1').setNoDelay(true);
    let sentAt = 0;
    let isOpen = false;
    const send = (): void => {
      const request = requests[next];
      isOpen = request !== undefined;
      if (request === undefined) return void socket.end();
      next += 1;
      sentAt = performance.now();
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('error', done.reject);
    socket.on('close', () => {
      if (isOpen) done.reject(new Error('the server closed a connection'));
    });
    socket.on('data', (answer) => {
      if (answer[STATUS_CLASS_AT] !== DIGIT_2) refused += 1;
      times[answered] = performance.now() - sentAt;
      answered += 1;
      if (answered === requests.length) done.resolve();
      send();
    });
  }
  return {
    answered: () => answered,
    done: done.promise.then(() => summary(times, performance.now() - began, refused)),
  };
}

type OpenLoop = { port: number; requests: readonly Uint8Array[]; perSecond: number; connections: number };

/**
 * Open loop: requests are sent at an even rate even if the server cannot keep up, and each is timed from when it was due,
 * so that a stall shows in every delayed request. It ends early when the signal aborts. The requests are sent by a thread
 * of their own, which has a high priority if the benchmark runs as root, as if they came from another machine.
 */
export async function openLoop(
  port: number,
  requests: readonly Uint8Array[],
  perSecond: number,
  connections: number,
  signal?: AbortSignal,
): Promise<Latencies> {
  const load: OpenLoop = { port, requests, perSecond, connections };
  const thread = new Worker(new URL(import.meta.url), { workerData: load });
  const stop = (): void => thread.postMessage('stop');
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const [latencies] = await once(thread, 'message');
    return latencies;
  } finally {
    signal?.removeEventListener('abort', stop);
    await thread.terminate();
  }
}

async function sendOpenLoop({ port, requests, perSecond, connections }: OpenLoop): Promise<Latencies> {
  // On Linux, this is the priority of the calling thread, which only root may raise.
  if (process.getuid?.() === 0) setPriority(constants.priority.PRIORITY_HIGH);
  const times = new Float64Array(requests.length);
  const done = Promise.withResolvers<void>();
  const idle = await Promise.all(Array.from({ length: connections }, () => connected(port)));
  for (const socket of idle)
    socket.once('close', () => done.reject(new Error('the server closed a connection')));
  const waiting: number[] = [];
  let answered = 0;
  let refused = 0;
  let end = requests.length;
  const began = performance.now();
  const dueAt = (index: number): number => began + (index * 1_000) / perSecond;
  const send = (socket: Socket, index: number): void => {
    socket.once('data', (answer) => {
      if (answer[STATUS_CLASS_AT] !== DIGIT_2) refused += 1;
      times[index] = performance.now() - dueAt(index);
      answered += 1;
      if (answered === end) done.resolve();
      const behind = waiting.shift();
      if (behind === undefined) idle.push(socket);
      else send(socket, behind);
    });
    socket.write(requests[index] as Uint8Array);
  };
  let next = 0;
  const stop = (): void => {
    end = next;
    if (answered === end) done.resolve();
  };
  parentPort?.once('message', stop);
  const tick = (): void => {
    for (; next < end && dueAt(next) <= performance.now(); next += 1) {
      // Round robin: the server closes a connection that stays without a request.
      const socket = idle.shift();
      if (socket === undefined) waiting.push(next);
      else send(socket, next);
    }
    // A timer instead of a busy loop, which would take a core from the server. It adds up to a millisecond.
    if (next < end) setTimeout(tick, 1);
  };
  tick();
  await done.promise;
  const took = performance.now() - began;
  for (const socket of idle) socket.end();
  return summary(times.slice(0, end), took, refused);
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket));
  });
}

function summary(times: Float64Array, tookMs: number, refused: number): Latencies {
  times.sort();
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] as number;
  return { perSecond: (times.length * 1_000) / tookMs, p50: at(0.5), p99: at(0.99), worst: at(1), refused };
}

if (!isMainThread) parentPort?.postMessage(await sendOpenLoop(workerData));
