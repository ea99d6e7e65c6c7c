import t from 'tap';
import { scratch } from '../../database/scratch.ts';
import fc, { SEED } from '../../support/seeded.ts';
import { RecordedWorld } from './model-world.ts';
import { FIRST_MONDAY, play, years } from './model-years.ts';
t.test('scan', { timeout: 0 }, async (t) => {
  t.setTimeout(0);
  const only = process.env.ONLY;
  const sample = fc.sample(years, { seed: SEED, numRuns: Number(process.env.YEARS ?? 8) });
  let bad = 0, runs = 0;
  for (const [i, year] of sample.entries()) {
    if (only !== undefined && Number(only) !== i) continue;
    const { db } = await scratch(t);
    const world = new RecordedWorld(db, FIRST_MONDAY);
    try { await play(world, year); }
    catch (e) { bad++; console.error(`## year ${i} ${world.today} s${year.schedules} ${year.frequencies}/${year.groups} after ${world.runs.length} runs\n` + String((e as Error).stack).split('\n').filter((l) => !/node_modules|node:internal/.test(l)).slice(0, 16).join('\n').slice(0, 1800)); 
      for (const who of (process.env.WHO ?? '').split(',').filter(Boolean)) { console.error('facts', world.facts.filter((f) => f.employee_id === who).map((f) => JSON.stringify(f)).join('\n')); console.error('versions', world.versions.filter((v) => v.employee === who).map((v) => JSON.stringify(v)).join('\n')); const seen = world.runs.map((r) => r); for (const sc of world.schedulesOf('acme')) console.error('list', sc.pay_frequency, sc.year_in_fewer_checks, sc.pay_dates.map((p) => p.pay_date.slice(2) + '<' + p.period_start.slice(5) + p.takes[0]).join(' ')); console.error('ran', seen.map((r) => `${r.id}${r.voided ? 'V' : ''} ${r.run.employer_id} ${r.run.kind[0]} ${r.run.pay_frequency[0]} ${r.run.pay_date} ${JSON.stringify([...(r.calendar?.cells.own ?? [])].filter(([dd]) => dd === r.run.pay_date).map(([, c]) => String(c.share)))}`).join('; ')); console.error('assigned', JSON.stringify(world.assignments)); } }
    runs += world.runs.length;
  }
  console.error(`bad ${bad} of ${sample.length}, ${runs} runs`);
});
