/** A file that was refused as a whole: each row and field that is wrong, in a table. */
import type { ProblemDetails } from '../../../api/problem.ts';
import { count } from '../../elements/facts.ts';
import { type RowPlace, rowProblems } from '../../elements/row-problems.ts';
import { type Html, html } from '../../html.ts';
import { ApiRefusal } from '../../own-api.ts';

/** What the API answers, or what it refused of the file's rows. Other refusals are thrown on. */
export async function refusedRows<T>(ask: () => Promise<T>): Promise<{ answer: T } | { refused: Html }> {
  try {
    return { answer: await ask() };
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.problem.status !== 422) throw error;
    return { refused: refusedOf(error.problem) };
  }
}

function refusedOf({ title, errors = [], error_count = errors.length }: ProblemDetails): Html {
  return html`
    <section aria-labelledby="refused">
      <h2 id="refused">${title}</h2>
      <p>
        ${`${count(error_count)} ${error_count === 1 ? 'thing is' : 'things are'} wrong, so nothing of the file was used.${errors.length < error_count ? ` The first ${count(errors.length)} are shown.` : ''} Row 1 is the first one below the header.`}
      </p>
      ${rowProblems(errors, placeOf)}
    </section>
  `;
}

/** `lines[17].amount` as `18` and `amount`. */
function placeOf(path: string): RowPlace {
  const [, index, field] = /^lines\[(\d+)\]\.?(.*)$/s.exec(path) ?? [];
  if (index === undefined) return { row: 'the file', field: path };
  return { row: count(Number(index) + 1), field: field || 'the whole row' };
}
