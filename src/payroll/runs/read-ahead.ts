/** Pages whose reading has begun while the one before is worked on: PostgreSQL looks them up meanwhile. */
const PAGES_AHEAD = 2;

/**
 * Reads each item, in order, and begins with the next ones before it is asked for them. SQLite has no meanwhile, and
 * loses nothing by it. Whoever stops in the middle leaves nothing under way.
 */
export async function* readAhead<Item, Page>(
  items: AsyncIterable<Item>,
  read: (item: Item) => Promise<Page>,
): AsyncGenerator<Page> {
  const reading: Promise<Page>[] = [];
  try {
    for await (const item of items) {
      const page = read(item);
      // It is thrown where the page is taken; until then nobody else hears of it.
      page.catch(() => {});
      reading.push(page);
      if (reading.length > PAGES_AHEAD) yield await (reading.shift() as Promise<Page>);
    }
    for (let page = reading.shift(); page !== undefined; page = reading.shift()) yield await page;
  } finally {
    await Promise.allSettled(reading);
  }
}
