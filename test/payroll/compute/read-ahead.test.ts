import t from 'tap';
import { readAhead } from '../../../src/payroll/compute/read-ahead.ts';

async function* upTo(last: number): AsyncGenerator<number> {
  for (let item = 1; item <= last; item += 1) yield item;
}

function asked() {
  const answers = new Map<number, PromiseWithResolvers<string>>();
  const read = (item: number): Promise<string> => {
    const answer = Promise.withResolvers<string>();
    answers.set(item, answer);
    return answer.promise;
  };
  return { answers, read };
}

/** Waits for more turns of the event loop than there are pages: each read takes one. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
}

t.test('pages are returned in order, and some are read ahead', async (t) => {
  const { answers, read } = asked();
  const pages = readAhead(upTo(5), read, 2);
  const first = pages.next();
  await turns();
  t.strictSame([...answers.keys()], [1, 2, 3]);
  for (const item of [3, 2, 1]) answers.get(item)?.resolve(`page ${item}`);
  t.strictSame(await first, { value: 'page 1', done: false });
  const rest: string[] = [];
  const reading = (async () => {
    for await (const page of pages) rest.push(page);
  })();
  await turns();
  for (const item of [5, 4]) answers.get(item)?.resolve(`page ${item}`);
  await reading;
  t.strictSame(rest, ['page 2', 'page 3', 'page 4', 'page 5']);
});

t.test('a failed page throws at its place', async (t) => {
  const pages = readAhead(
    upTo(3),
    async (item) => {
      if (item === 2) throw new Error('lost');
      return item;
    },
    2,
  );
  t.equal((await pages.next()).value, 1);
  await t.rejects(pages.next(), { message: 'lost' });
});

t.test('a consumer that stops early leaves nothing in progress', async (t) => {
  const { answers, read } = asked();
  const pages = readAhead(upTo(5), read, 2);
  const first = pages.next();
  await turns();
  answers.get(1)?.resolve('page 1');
  await first;
  let stopped = false;
  const stopping = pages.return(undefined).then(() => {
    stopped = true;
  });
  await turns();
  t.equal(stopped, false, 'pages in progress are awaited');
  answers.get(2)?.resolve('page 2');
  answers.get(3)?.reject(new Error('late'));
  await stopping;
  t.strictSame([...answers.keys()], [1, 2, 3]);
});
