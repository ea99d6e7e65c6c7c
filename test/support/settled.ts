/** Waits until a number stays the same for many turns of the event loop. */
export async function settled(number: () => number): Promise<number> {
  let last = number();
  for (let same = 0; same < 500; ) {
    await new Promise(setImmediate);
    same = number() === last ? same + 1 : 0;
    last = number();
  }
  return last;
}
