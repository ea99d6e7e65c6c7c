import t from 'tap';
import { referenceDocument } from '../../tools/reference.ts';
import { breaksOf } from './compatibility.ts';
import { RELEASES, readKept } from './kept.ts';

const today = JSON.parse(JSON.stringify(await referenceDocument()));

// biome-ignore lint/suspicious/noExplicitAny: the changes name what they change.
type Change = (document: any) => void;
const run = 'PUT /v1/payroll-runs/{run_id} body';
const request = ({ components }: Parameters<Change>[0]) => components.schemas.PayrollRunRequest;
const period = (document: Parameters<Change>[0]) => request(document).properties;

/** Changes of the document, each with what a client of the release before misses. */
const CHANGES: readonly (readonly [Change, string[]])[] = [
  [({ paths }) => void delete paths['/v1/activity'], ['GET /v1/activity is gone']],
  [({ webhooks }) => void delete webhooks['run.finalized'], ['run.finalized is gone']],
  [
    ({ components }) => void delete components.schemas.RunFinalizedNotification.properties.type,
    ['run.finalized body.type is gone'],
  ],
  [
    ({ paths }) => void paths['/v1/deductions'].get.parameters.shift(),
    ['GET /v1/deductions query employer_id is gone'],
  ],
  [
    ({ paths }) => void Object.assign(paths['/v1/deductions'].get.parameters[0], { required: true }),
    ['GET /v1/deductions query employer_id is required'],
  ],
  [
    ({ paths }) => void paths['/v1/activity'].get.security[0].bearer.push('more'),
    ['GET /v1/activity needs metrics:read and more'],
  ],
  [({ paths }) => void paths['/v1/activity'].get.security.push({ bearer: ['more'] }), []],
  [
    ({ paths }) => void Object.assign(paths['/v1/activity'].get, { security: [{ bearer: ['more'] }] }),
    ['GET /v1/activity needs more'],
  ],
  [
    ({ paths }) => void delete paths['/v1/audit'].get.responses[200].content['text/csv'],
    ['GET /v1/audit 200 has no text/csv'],
  ],
  [(document) => void request(document).required.push('pay_group'), [`${run}.pay_group is required`]],
  [(document) => void delete period(document).pay_group, [`${run}.pay_group is gone`]],
  [(document) => void period(document).kind.enum.pop(), [`${run}.kind refuses off_cycle`]],
  [
    (document) => void Object.assign(period(document).pay_date, { type: 'integer' }),
    [`${run}.pay_date is integer, not string`],
  ],
  [
    (document) => void Object.assign(period(document).pay_group, { maxLength: 9 }),
    [`${run}.pay_group has another maxLength`],
  ],
  [({ paths }) => void Object.assign(paths, { '/v1/more': paths['/v1/activity'] }), []],
  [(document) => void Object.assign(period(document), { more: { type: 'string' } }), []],
  [(document) => void period(document).kind.enum.push('more'), []],
];

t.test('a change that a client would not survive is named, and an addition is not', async (t) => {
  t.strictSame(breaksOf(today, today), []);
  for (const [change, expected] of CHANGES) {
    const changed = structuredClone(today);
    change(changed);
    const found = breaksOf(today, changed);
    t.ok(
      expected.every((each) => found.includes(each)),
      `${change}: ${found}`,
    );
    t.equal(found.length > 0, expected.length > 0, `${change}: ${found}`);
  }
});

for (const release of RELEASES.slice(-1))
  t.test(`a client of ${release} works with this build`, async (t) => {
    t.strictSame(breaksOf(JSON.parse(readKept(release, 'openapi').toString()), today), []);
  });
