import { legalNameOf } from '../../src/census/staged.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { censusOf, organization, person, stage } from '../census/parts.ts';
import { newHire } from '../contract/samples.ts';
import { scratch } from '../database/scratch.ts';
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json, stubService } from '../outbox/stub-service.ts';
import { onEitherEngine } from '../support/engine.ts';
import { report } from './stage.ts';

const NAME = organization.legal_business_name;

onEitherEngine('a hire without its employer is sent with the legal name of the staged census', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  const { url, received } = await stubService(t, (response) => json(response, 200));
  const senders = createChangeSenders(encryptor, (employerId) => legalNameOf(db, encryptor, employerId));
  const sent = async (employee_id: string, fields = {}) => {
    await report(db, 'new-hire', employee_id, { fields, clock });
    await sendAll(sendLoop(t, db, url, clock, { senders }));
    return JSON.parse(received.at(-1)?.body ?? '');
  };
  const named = { ...newHire, employee_id: 'e-1', employer: 'As given' };
  t.strictSame(await sent('e-1', { employer: 'As given' }), named, 'a given name stays');
  t.strictSame(await sent('e-2'), { ...newHire, employee_id: 'e-2' }, 'no census states it');
  await stage(db, clock, censusOf([person('e-9')]), { employerId: newHire.employer_id });
  t.strictSame(await sent('e-3'), { ...newHire, employee_id: 'e-3', employer: NAME });
  const other = createEncryptor([{ id: 'other', key: Buffer.alloc(32, 1) }]);
  t.equal(await legalNameOf(db, other, newHire.employer_id), null, 'its key is missing');
});
