/** Variables that nobody reads, and that look like one of ours: a setting that is silently not made. */
import { type Environment, given } from '../../environment.ts';
import { type Finding, pass, warn } from './finding.ts';
import { SETTINGS, VARIABLES } from './settings.ts';

const ID = 'variables';

/** Letters that may be wrong: in a short name one makes other words, such as APP_TOKEN of API_TOKEN. */
const LONG = 12;
const WRONG_IN_LONG = 2;
const WRONG_IN_SHORT = 1;

/** A guess by spelling: it warns and never fails. Values are not looked at: they may be secrets of others. */
export function checkSpelling(env: Environment): Finding {
  const found = Object.keys(env).flatMap((name) => {
    const meant = given(env, name) === undefined ? null : meantBy(name, env);
    return meant === null ? [] : [`${name} (${meant}?)`];
  });
  if (found.length === 0) return pass(ID, 'none looks like a misspelt one of the configuration');
  return warn(
    ID,
    `not read by anything here, and near one that is: ${found.join(', ')}`,
    'Mend the name; a program of yours may have a variable of that name, then leave it.',
  );
}

/** The variable of ours that is nearest to a name; null when none is near, or when that is set as well. */
function meantBy(name: string, env: Environment): string | null {
  if (VARIABLES.includes(name)) return null;
  let nearest: { variable: string; wrong: number } | null = null;
  for (const variable of VARIABLES) {
    const allowed = variable.length < LONG ? WRONG_IN_SHORT : WRONG_IN_LONG;
    if (Math.abs(variable.length - name.length) > allowed) continue;
    if (variable.length < LONG && firstWord(variable) !== firstWord(name)) continue;
    const wrong = lettersWrong(name.toUpperCase(), variable);
    if (wrong <= allowed && (nearest === null || wrong < nearest.wrong)) nearest = { variable, wrong };
  }
  if (nearest === null) return null;
  const { variable } = nearest;
  const setting = Object.hasOwn(SETTINGS, variable) ? variable : variable.replace(/_FILE$/, '');
  const isSet = [setting, `${setting}_FILE`].some((one) => given(env, one) !== undefined);
  return isSet ? null : variable;
}

function firstWord(name: string): string {
  return name.toUpperCase().split('_')[0] ?? '';
}

/** Letters to add, to leave out, to replace, or neighbours to swap, until one text is the other. */
function lettersWrong(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const at = (of: readonly number[], index: number): number => of[index] ?? Number.POSITIVE_INFINITY;
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, last] = [last, row];
  }
  return last[other.length] ?? 0;
}
