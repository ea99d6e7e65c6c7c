import t from 'tap';
import {
  cut,
  decimal,
  minus,
  print,
  printReadable,
  rounded,
  times,
  ZERO,
} from '../../src/payroll/calculation/money.ts';

/** A fraction, what it rounds to, and what it is cut to. */
const quotients: [dividend: string, divisor: number, rounded: string, cut: string][] = [
  ['0', 1, '0.00', '0.00'],
  ['0.01', 1, '0.01', '0.01'],
  ['0.004', 1, '0.00', '0.00'],
  ['0.005', 1, '0.01', '0.00'],
  ['0.015', 1, '0.02', '0.01'],
  ['0.025', 1, '0.03', '0.02'],
  ['0.025000000000000000000000000000000000001', 1, '0.03', '0.02'],
  ['0.024999999999999999999999999999999999999', 1, '0.02', '0.02'],
  // 0.005 less than a half of a cent and more, told apart only by a remainder far behind.
  ['0.0349999999999999999999999999999999999999', 7, '0.00', '0.00'],
  ['0.035', 7, '0.01', '0.00'],
  ['0.0350000000000000000000000000000000000001', 7, '0.01', '0.00'],
  ['0.0000000000000000000000000000000000000001', 624, '0.00', '0.00'],
  ['9.995', 1, '10.00', '9.99'],
  ['1800', 26, '69.23', '69.23'],
  ['2', 3, '0.67', '0.66'],
  ['1', 3, '0.33', '0.33'],
];

t.test('a fraction is rounded half away from zero, or cut toward zero', async (t) => {
  const negative = (amount: string) => (amount === '0.00' ? amount : `-${amount}`);
  for (const [dividend, divisor, nearest, toward] of quotients) {
    t.equal(print(rounded(decimal(dividend), 1, divisor)), nearest, `${dividend} / ${divisor}`);
    t.equal(
      print(rounded(decimal(`-${dividend}`), 1, divisor)),
      negative(nearest),
      `-${dividend} / ${divisor}`,
    );
    t.equal(print(cut(decimal(dividend), divisor)), toward, `${dividend} / ${divisor} cut`);
    t.equal(print(cut(decimal(`-${dividend}`), divisor)), negative(toward), `-${dividend} / ${divisor} cut`);
  }
});

t.test('amounts for people have thousands separators', async (t) => {
  const texts = { '1800': '1,800.00', '-1234567.5': '-1,234,567.50', '999.999': '999.999', '-0.05': '-0.05' };
  for (const [text, printed] of Object.entries(texts)) t.equal(printReadable(decimal(text)), printed);
});

t.test('a decimal is what its text says, and prints with two decimals or with all it has', async (t) => {
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
    '1000000': '1000000.00',
  };
  for (const [text, printed] of Object.entries(texts)) t.equal(print(decimal(text)), printed, text);
  const long = `${'9'.repeat(40)}.${'9'.repeat(40)}`;
  t.equal(print(decimal(long)), long);
});

t.test('a part of an amount is rounded from the exact product, not from a rounded part', async (t) => {
  t.equal(print(rounded(decimal('1800.00'), 7, 26)), '484.62');
  t.equal(print(rounded(decimal('0.01'), 3, 2)), '0.02');
  t.equal(print(rounded(decimal('0.01'), 0, 2)), '0.00');
});

t.test('products and differences are exact', async (t) => {
  t.equal(print(times(decimal('33.3333'), 12)), '399.9996');
  t.equal(print(times(decimal(`-${'9'.repeat(40)}.5`), 2)), `-1${'9'.repeat(40)}.00`);
  t.equal(print(minus(decimal('69.24'), decimal('69.23'))), '0.01');
  t.equal(print(minus(ZERO, decimal('0.01'))), '-0.01');
});

t.test('a float is refused where it would touch money', async (t) => {
  t.throws(() => times(decimal('1.00'), 0.5), RangeError);
  t.throws(() => rounded(decimal('1.00'), 0.5, 1), RangeError);
  t.throws(() => rounded(decimal('1.00'), 1, 0.5), RangeError);
});
