import t from 'tap';
import { maskSsn, maskSsnsIn } from '../../src/contract/employee.ts';

t.test('only the last four digits of an SSN are shown, however it is written', async (t) => {
  for (const [ssn, shown] of [
    ['123-45-6789', '***-**-6789'],
    ['123456789', '***-**-6789'],
    ['123 45 6789', '***-**-6789'],
    ['XXX-XX-6789', '***-**-****'],
    ['6789', '***-**-****'],
    ['12345', '***-**-2345'],
    ['', '***-**-****'],
    ['none', '***-**-****'],
  ] as const) {
    t.equal(maskSsn(ssn), shown, ssn);
  }
});

t.test('every SSN in a text is masked, and no other number', async (t) => {
  t.equal(maskSsnsIn('123-45-6789, 987654321; 111 22 3333.'), '***-**-6789, ***-**-4321; ***-**-3333.');
  t.equal(
    maskSsnsIn('at 2026-03-31, zip 12207-1234, id 1234567890'),
    'at 2026-03-31, zip 12207-1234, id 1234567890',
  );
  t.equal(maskSsnsIn('known: 12.34.56.789', '12.34.56.789'), 'known: ***-**-6789');
  t.equal(maskSsnsIn('nothing', ''), 'nothing');
});
