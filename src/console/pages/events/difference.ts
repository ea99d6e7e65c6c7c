/** Which lines of two texts have no counterpart in the other: those outside a longest common part. Pure. */

export type Difference = { readonly one: readonly boolean[]; readonly other: readonly boolean[] };

/** True for a line that differs. Needs as many steps as the lines of the one times those of the other. */
export function differenceOf(one: readonly string[], other: readonly string[]): Difference {
  const width = other.length + 1;
  // How many lines the rests from here have in common.
  const common = new Uint16Array((one.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] as number;
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      common[i * width + j] =
        one[i] === other[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const differs = { one: one.map(() => true), other: other.map(() => true) };
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    if (one[i] === other[j]) {
      differs.one[i] = false;
      differs.other[j] = false;
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return differs;
}
