/**
 * Paths of fields as people write them, `employees[17].address.state`, made from JSON pointers.
 */

/**
 * How the interface writes names, without digits. A name that the caller made up could be any text, such as an
 * employee's name or number: one that looks otherwise is not repeated.
 */
const FIELD_NAME = /^[A-Za-z_]{1,64}$/;
/** In the place of a name that is not repeated. */
const UNNAMED = '[…]';

const INDEX = /^\d+$/;

/** The path of a field that the interface knows: a segment of digits is the index of an array. */
export function pathOf(pointer: string): string {
  return segmentsOf(pointer).reduce(
    (path, segment) => (INDEX.test(segment) ? `${path}[${segment}]` : fieldPath(path, segment)),
    '',
  );
}

/** The path of a field that the interface doesn't know, by its pointer. */
export function unknownFieldPath(pointer: string): string {
  const parent = pointer.slice(0, pointer.lastIndexOf('/'));
  return givenFieldPath(pathOf(parent), segmentsOf(pointer).at(-1)!);
}

/** The path of a field by the name that the caller gave it: `employees[0].nickname`, or `employees[0][…]`. */
export function givenFieldPath(path: string, name: string): string {
  return FIELD_NAME.test(name) ? fieldPath(path, name) : `${path}${UNNAMED}`;
}

/** The path of a field of the object at `path`, by a name of the interface. */
export function fieldPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** The segments of a JSON pointer, unescaped (RFC 6901). */
export function segmentsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
