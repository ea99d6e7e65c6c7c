import t from 'tap';
import { CONTRIBUTION_DIGITS_MAX } from '../src/contract/deduction.ts';
import {
  amountOf,
  centsOf,
  decimal,
  isSameNumber,
  parseAmount,
  printReadable,
  rounded,
  times,
} from '../src/money.ts';

/** A fraction and its rounded value. */
const quotients: [dividend: string, divisor: number, rounded: string][] = [
  ['0', 1, '0.00'],
  ['0.01', 1, '0.01'],
  ['0.004', 1, '0.00'],
  ['0.005', 1, '0.01'],
  ['0.015', 1, '0.02'],
  ['0.025', 1, '0.03'],
  ['0.025000000000000000000000000000000000001', 1, '0.03'],
  ['0.024999999999999999999999999999999999999', 1, '0.02'],
  // 0.005 less than half a cent and more, distinguished only by a distant digit.
  ['0.0349999999999999999999999999999999999999', 7, '0.00'],
  ['0.035', 7, '0.01'],
  ['0.0350000000000000000000000000000000000001', 7, '0.01'],
  ['0.0000000000000000000000000000000000000001', 624, '0.00'],
  ['9.995', 1, '10.00'],
  ['1800', 26, '69.23'],
  ['2', 3, '0.67'],
  ['1', 3, '0.33'],
];

t.test('a fraction is rounded half away from zero', async (t) => {
  const negative = (amount: string) => (amount === '0.00' ? amount : `-${amount}`);
  for (const [dividend, divisor, nearest] of quotients) {
    const round = (text: string) => amountOf(rounded(decimal(text), 1, divisor));
    t.equal(round(dividend), nearest, `${dividend} / ${divisor}`);
    t.equal(round(`-${dividend}`), negative(nearest), `-${dividend} / ${divisor}`);
  }
});

t.test('a part of an amount is rounded from the exact product, not from a rounded part', async (t) => {
  t.equal(rounded(decimal('1800.00'), 7, 26), 48462n);
  t.equal(rounded(180000n, 7, 26), 48462n, 'cents are divided like a contribution');
  t.equal(rounded(1n, 3, 2), 2n);
  t.equal(rounded(1n, 0, 2), 0n);
});

t.test('a contribution has the exact value of its text, at any length', async (t) => {
  const texts: Record<string, string> = {
    '150': '150.00',
    '150.0': '150.00',
    '+150.00': '150.00',
    '00.10': '0.10',
    '-0.05': '-0.05',
    '-0': '0.00',
    '-0.000': '0.00',
    '33.333': '33.333',
    '0.0050': '0.005',
    '1000000': '1,000,000.00',
    '-1234567.5': '-1,234,567.50',
    '999.999': '999.999',
  };
  for (const [text, printed] of Object.entries(texts)) t.equal(printReadable(decimal(text)), printed, text);
  const nines = '9'.repeat(39);
  t.equal(printReadable(decimal(`${nines}.${nines}`)).replaceAll(',', ''), `${nines}.${nines}`);
  t.equal(printReadable(-123456n), '-1,234.56');
  t.equal(printReadable(times(decimal('33.3333'), 12)), '399.9996');
});

t.test('contributions are compared as numbers, not as text', async (t) => {
  for (const text of ['20', '20.0', '+20.00', '020']) t.ok(isSameNumber('20', text), text);
  for (const text of ['-20', '20.001', '200', '2.0']) t.notOk(isSameNumber('20', text), text);
  t.ok(isSameNumber('0', '-0.00'));
});

t.test('cents print with two decimals and read back', async (t) => {
  const amounts: [bigint, string][] = [
    [0n, '0.00'],
    [5n, '0.05'],
    [-5n, '-0.05'],
    [-12345n, '-123.45'],
    [BigInt('9'.repeat(42)), `${'9'.repeat(40)}.99`],
  ];
  for (const [cents, text] of amounts) {
    t.equal(amountOf(cents), text);
    t.equal(centsOf(text), cents);
  }
});

t.test('an amount in a payroll file has at most two decimals and no plus sign', async (t) => {
  const accepted: [string, bigint][] = [
    ['12.34', 1234n],
    ['-5', -500n],
    ['5.5', 550n],
    ['-0', 0n],
    ['007', 700n],
    ['9'.repeat(CONTRIBUTION_DIGITS_MAX + 2), BigInt('9'.repeat(CONTRIBUTION_DIGITS_MAX + 2)) * 100n],
  ];
  for (const [text, cents] of accepted) t.equal(parseAmount(text), cents, text);
  const refused = ['', '+5', '1.234', '1,000.00', '1.', '.5', '1e3', ' 1', '--1', '0x10'];
  for (const text of [...refused, '9'.repeat(CONTRIBUTION_DIGITS_MAX + 3)])
    t.equal(parseAmount(text), null, text);
});

t.test('invalid amounts and floats with a fraction throw', async (t) => {
  t.throws(() => centsOf('x'), SyntaxError);
  t.throws(() => centsOf('1,00'), SyntaxError);
  t.throws(() => times(decimal('1.00'), 0.5), RangeError);
  t.throws(() => rounded(decimal('1.00'), 0.5, 1), RangeError);
  t.throws(() => rounded(decimal('1.00'), 1, 0.5), RangeError);
});
