import { transact } from '../../src/database/transaction.ts';
import { nearIds } from '../../src/ledger/near-ids.ts';
import { recordFacts } from '../../src/ledger/roster.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employment } from '../support/payroll.ts';

const test = onEitherEngine.with(scratch);

test('an id that lost its zeros, case, blanks or width, or became a decimal, is found at its employer', async (t, {
  db,
}) => {
  const at = (employer_id: string, ...ids: string[]) => ids.map((id) => employment(id, { employer_id }));
  const facts = [...at('a', '123', '00045', 'e-7', '6', 'Emp-9 ', 'Ｋ１'), ...at('b', '0008', '6')];
  const source = { source: 'census', source_id: 'census-1' } as const;
  await transact(db, (trx) => recordFacts(trx, facts, source, '2026-01-01T00:00:00.000Z'));
  const ids = [
    '00123',
    '="00123"',
    '="45"',
    '１２３',
    'emp-9',
    'EMP-9',
    'ｅｍｐ－９',
    'K1',
    'ｋ１',
    '45',
    '45.0',
    '45.5',
    'E-7',
    '0e-7',
    ' 6 ',
    '6',
    '8',
    '999',
    '0',
    '',
  ];
  const emp9 = { 'EMP-9': 'Emp-9 ', 'emp-9': 'Emp-9 ', 'ｅｍｐ－９': 'Emp-9 ' };
  const near = {
    '00123': '123',
    '="00123"': '123',
    '="45"': '00045',
    '１２３': '123',
    ...emp9,
    K1: 'Ｋ１',
    ｋ１: 'Ｋ１',
    '45': '00045',
    '45.0': '00045',
    'E-7': 'e-7',
    '0e-7': 'e-7',
    ' 6 ': '6',
  };
  t.strictSame(Object.fromEntries(await nearIds(db, ids, ['a'])), near);
  t.strictSame(Object.fromEntries(await nearIds(db, ids, null)), { ...near, '8': '0008' });
  t.equal((await nearIds(db, [], null)).size, 0);
});
