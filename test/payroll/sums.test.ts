import t from 'tap';
import { difference, total } from '../../src/payroll/calculation/sums.ts';

t.test('sums and differences are exact, whatever a float would make of them', async (t) => {
  t.equal(total([]), '0.00');
  t.equal(total(['0.10', '0.20', '-0.30']), '0.00');
  t.equal(total(new Set(['90071992547409.91', '90071992547409.92'])), '180143985094819.83');
  t.equal(total(['-0.01', '0.00']), '-0.01');
  t.equal(difference('69.24', '69.23'), '0.01');
  t.equal(difference('0.00', '12.50'), '-12.50');
  t.equal(difference('0.3', '0.1'), '0.20');
  t.equal(difference('33.333', '33.33'), '0.003', 'what is less than a cent is not hidden');
  t.equal(difference('5', '5.000'), '0.00');
});

t.test('a text that is no number is no amount', async (t) => {
  t.throws(() => total(['1.00', '']), /Invalid number/);
  t.throws(() => difference('1,00', '1.00'), /Invalid number/);
});
