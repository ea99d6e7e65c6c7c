/**
 * The order of ids in every list: as both engines compare texts, by the bytes of UTF-8, which is by code points. In
 * JavaScript's own order, by units of UTF-16, the characters beyond U+FFFF come too early.
 */
export function byBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const [unit, otherUnit] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (unit === otherUnit) continue;
    const [isHalf, isOtherHalf] = [isSurrogate(unit), isSurrogate(otherUnit)];
    return isHalf === isOtherHalf ? unit - otherUnit : isHalf ? 1 : -1;
  }
  return one.length - other.length;
}

/** Half of a character beyond U+FFFF. */
function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
