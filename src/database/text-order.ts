/** Compares ids by their UTF-8 bytes, as the engines do. JavaScript compares UTF-16 units. */
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

/** Returns whether a unit is half of a character beyond U+FFFF. */
function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
