/**
 * Reads a page for each item in order, and starts reading the next `pagesAhead` while the consumer works on one. When the
 * consumer stops, nothing stays in progress.
 */
export async function* readAhead<Item, Page>(
  items: AsyncIterable<Item>,
  read: (item: Item) => Promise<Page>,
  pagesAhead: number,
): AsyncGenerator<Page> {
  const reading: Promise<Page>[] = [];
  try {
    for await (const item of items) {
      const page = read(item);
      // The error is thrown when the page is taken; this prevents an unhandled rejection before that.
      page.catch(() => {});
      reading.push(page);
      // Let other requests proceed: SQLite reads the whole page in this turn of the event loop.
      await new Promise(setImmediate);
      if (reading.length > pagesAhead) yield await (reading.shift() as Promise<Page>);
    }
    for (let page = reading.shift(); page !== undefined; page = reading.shift()) yield await page;
  } finally {
    await Promise.allSettled(reading);
  }
}
