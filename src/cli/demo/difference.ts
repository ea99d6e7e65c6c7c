/**
 * Where two JSON values differ first, as a path such as `employees[2].address.state`; null when they are equal.
 * Names no value: they may be personal.
 */
export function firstDifference(found: unknown, expected: unknown, path = ''): string | null {
  if (Object.is(found, expected)) return null;
  if (!isParts(found) || !isParts(expected) || Array.isArray(found) !== Array.isArray(expected)) {
    return path === '' ? 'all of it' : path;
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const name = Array.isArray(expected) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    const difference = firstDifference(found[key], expected[key], name);
    if (difference !== null) return difference;
  }
  return null;
}

function isParts(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
