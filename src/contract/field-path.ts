/**
 * Paths of fields as people write them, `employees[17].address.state`, made from JSON pointers.
 */

/** Characters kept of the name of an unknown field: it is the caller's text and could be of any length. */
export const FIELD_NAME_MAX_CHARACTERS = 64;

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const INDEX = /^\d+$/;

/** The path of a field that the interface knows: a segment of digits is the index of an array. */
export function pathOf(pointer: string): string {
  return segmentsOf(pointer).reduce(
    (path, segment) => (INDEX.test(segment) ? `${path}[${segment}]` : fieldPath(path, segment)),
    '',
  );
}

/** The path of a field that the interface doesn't know: its last segment is a name, whatever it looks like. */
export function unknownFieldPath(pointer: string): string {
  const parent = pointer.slice(0, pointer.lastIndexOf('/'));
  return fieldPath(pathOf(parent), segmentsOf(pointer).at(-1)!);
}

/** The path of a field of the object at `path`; a name that a path can't hold as it is goes into brackets. */
export function fieldPath(path: string, name: string): string {
  const cut = [...name.slice(0, 2 * FIELD_NAME_MAX_CHARACTERS)].slice(0, FIELD_NAME_MAX_CHARACTERS).join('');
  if (!PLAIN_NAME.test(cut)) return `${path}[${JSON.stringify(cut)}]`;
  return path === '' ? cut : `${path}.${cut}`;
}

/** The segments of a JSON pointer, unescaped (RFC 6901). */
export function segmentsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
