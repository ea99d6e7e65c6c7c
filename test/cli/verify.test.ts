/** `verify` of whole and altered databases. More damage: test/faults/verify-damaged.test.ts. */
import { onEitherEngine } from '../support/engine.ts';
import { altering } from './alter.ts';
import { here, jsonOf, withFixtures } from './harness.ts';
import { staged } from './verify-stage.ts';

onEitherEngine('a database with all fixtures and rows in every table is clean', async (t) => {
  for (const make of [withFixtures, staged]) {
    const { env } = await make(t);
    const ran = await here(t, env, ['verify', '--json']);
    t.equal(ran.code, 0, ran.stderr);
    t.match(jsonOf(ran), { clean: true, differences: { count: 0 } }, ran.stdout);
  }
});

onEitherEngine('differences are named without values and fail the command', async (t) => {
  const { env } = await withFixtures(t);
  const by = await altering(t, env.DATABASE_URL as string);
  await by.run("update deduction_versions set member_contribution = '77.77' where position = 1");
  const ran = await here(t, env, ['verify']);
  t.equal(ran.code, 1);
  const line = /^deduction_versions 1: member_contribution: does not follow from event \S+ and earlier/m;
  t.match(ran.stdout, line);
  t.match(ran.stdout, /Failed: 1 difference\./);
  t.notMatch(ran.stdout, /77\.77|emp-/);
  const { differences } = jsonOf(await here(t, env, ['verify', '--json']));
  const by_field = { 'deduction_versions.member_contribution': 1 };
  t.match(differences, { count: 1, by_field, named: [{ id: '1' }] });
});
