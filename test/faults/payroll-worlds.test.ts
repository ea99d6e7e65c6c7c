/** Years of payroll over HTTP: signed events, censuses, changes, runs and amounts taken, all compared with the payroll model. */
import { sql } from 'kysely';
import t from 'tap';
import { createReceiver } from '../../src/inbox/receiver.ts';
import { createVerify } from '../../src/inbox/signature.ts';
import type { IncomingDeduction } from '../../src/ledger/fold.ts';
import type { OpenItem } from '../../src/payroll/compute/open-items.ts';
import type { RunBody } from '../../src/payroll/records/body.ts';
import { byYear, type Schedule } from '../../src/payroll/settings/schedules.ts';
import { signEvent } from '../../src/simulator/sign.ts';
import { createReceivingCounts } from '../../src/telemetry/counts.ts';
import { apply, receive } from '../api/deliver.ts';
import { person } from '../census/parts.ts';
import { newHire, organization, payRate } from '../contract/samples.ts';
import { begin, type Fields, type Json } from '../end-to-end/payroll-world.ts';
import { SECRET } from '../inbox/deliver.ts';
import { dollars } from '../payroll/calculation/oracle.ts';
import { endOfJob, type Pair } from '../payroll/compute/model.ts';
import type { ModelItemDecision, ModelOpening } from '../payroll/compute/model-items.ts';
import { differences, RECORDS, type Records } from '../payroll/compute/model-records.ts';
import { type Assigning, type Report, SmallWorld, type Step } from '../payroll/compute/model-worlds.ts';
import { FIRST_MONDAY, years } from '../payroll/compute/model-years.ts';
import { onEachEngine } from '../support/engine.ts';
import type { Given } from '../support/payroll.ts';
import fc, { SEED } from '../support/seeded.ts';

/** A year takes about ten seconds of CPU time. `WORLDS=30` in the environment runs more of them. */
t.setTimeout(3_600_000);

const WORLDS = Number(process.env.WORLDS ?? 6);

type Http = Awaited<ReturnType<typeof begin>>;

class HttpWorld extends SmallWorld {
  readonly #http: Http;
  readonly #receiver: ReturnType<typeof createReceiver>;
  /** The rows of each employer's census. */
  readonly #censuses = new Map<string, Map<string, Fields>>();

  constructor(http: Http, receiver: ReturnType<typeof createReceiver>, prefix: string, schedules: number) {
    super(http.db, prefix, schedules, FIRST_MONDAY);
    this.#http = http;
    this.#receiver = receiver;
  }

  override async take(step: Step): Promise<void> {
    this.#http.on(this.today);
    if (step.does !== 'run') return super.take(step);
    // The API refuses employers without employees, ids that the employer never had, and shares without a termination or beyond
    // what remains.
    const { deductions, final_checks, ...body } = step.body;
    if (!this.facts.some(({ employer_id }) => employer_id === this.id(body.employer_id))) return;
    const isListed =
      body.pay_dates !== undefined || this.schedules > (body.pay_frequency === 'biweekly' ? 0 : 1);
    const employer = { employer_id: this.id(body.employer_id), period_end: body.period_end };
    const leavingOf = (entry: NonNullable<typeof final_checks>[number]) => {
      const employee_id = typeof entry === 'string' ? entry : entry.employee_id;
      if (endOfJob(this, employer, this.id(employee_id)) === null) return [];
      return [typeof entry !== 'string' && isListed ? { employee_id, shares: 'all' as const } : employee_id];
    };
    const [taken, leaving] = [
      deductions?.filter((id) => this.versions.some(({ deduction }) => deduction === this.id(id))),
      final_checks?.flatMap(leavingOf),
    ];
    if (taken?.length === 0) return;
    const items = body.kind === 'off_cycle' ? await this.#itemsNamed(body) : undefined;
    const named = {
      ...(items !== undefined && { items }),
      ...(taken !== undefined && { deductions: taken }),
      ...(leaving !== undefined && leaving.length > 0 && { final_checks: leaving }),
    };
    return super.take({ ...step, body: { ...body, ...named } });
  }

  /** Returns every other decided item that an off-cycle run may take, if any: the API refuses items that it may not take. */
  async #itemsNamed({ employer_id, employee_ids = [], pay_date }: RunBody): Promise<string[] | undefined> {
    const takeable: string[] = [];
    for (const employee of employee_ids) {
      const [items] = await this.items(this.id(employer_id), this.id(employee), pay_date);
      const groups = Map.groupBy(items, ({ identity: { kind, source, deduction_id } }) =>
        [kind, source, deduction_id].join(' '),
      );
      for (const [item, pair] of groups.values()) {
        if (item === undefined || pair !== undefined || item.state !== 'take') continue;
        const isInAnyYear = item.identity.kind === 'arrears' || item.identity.kind === 'opening';
        const isDue = (item.decision?.notBefore ?? '') <= pay_date;
        if (isInAnyYear && isDue) takeable.push(item.id);
      }
    }
    const named = takeable.filter((_, index) => index % 2 === 0);
    return named.length === 0 ? undefined : named;
  }

  /** Sends a census or a change to the API. The ledger may store more facts of a census: who is absent from it. */
  override async learn({ employee, employer, fact: { source, ...fact } }: Report): Promise<void> {
    const [employee_id, employer_id] = [this.id(employee), this.id(employer)];
    const { absent, employee_id: _, employer_id: __, ...stated } = fact as Fields;
    const fields = Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== null));
    const rows = this.#censuses.get(employer_id) ?? new Map<string, Fields>();
    this.#censuses.set(employer_id, rows);
    const row = rows.get(employee_id);
    if (source === 'census') {
      if (absent === 1) rows.delete(employee_id);
      else rows.set(employee_id, { ...fields, employment_status: 'full_time' });
      const employees = [...rows].map(([id, one]) => person(id, one));
      if (employees.length > 0)
        await this.#call('PUT', `/v1/employers/${employer_id}/census`, { organization, employees });
    } else if (source === 'new-hire') {
      rows.set(employee_id, fields);
      await this.#http.report(source, { ...newHire, employee_id, employer_id, ...fields });
    } else if (row !== undefined) {
      if (source === 'termination') row.termination_date = fields.termination_date;
      const isEmpty = source === 'compensation-change' && fields.pay_frequency === undefined;
      await this.#http.report(source, { employee_id, ...fields, ...(isEmpty && { pay_rate: payRate }) });
    }
    const { rows: facts } = await sql.raw<(typeof this.facts)[number]>(RECORDS.facts).execute(this.db);
    this.facts.splice(0, this.facts.length);
    this.facts.push(...facts.filter((one) => one.employee_id.startsWith(`${this.prefix}-`)));
  }

  protected override async schedule(employerId: string, schedules: readonly Schedule[]): Promise<void> {
    for (const { year, schedules: ofYear } of byYear(schedules).years)
      await this.#call('PUT', `/v1/employers/${employerId}/pay-schedules/${year}`, { schedules: ofYear });
  }

  protected override async deliver({ eventId, createdAt, deduction }: IncomingDeduction): Promise<void> {
    const [id, now] = [`${this.prefix}-${eventId}`, new Date(`${this.today}T09:00:00.000Z`)];
    const data = Object.fromEntries(Object.entries(deduction).filter(([, value]) => value !== null));
    const event = { id, event_type: 'employee.deduction-updated', created_at: createdAt, data };
    const body = JSON.stringify(event);
    const response = await this.#receiver.inject({
      method: 'POST',
      url: '/webhooks',
      headers: { ...signEvent(SECRET, id, new Date(), body), 'content-type': 'application/json' },
      payload: body,
    });
    if (response.statusCode !== 204) throw new Error(`${response.statusCode} ${response.body}`);
    await apply(this.db, now.toISOString());
  }

  protected override async settle(deductionId: string, version: number, decision: 'keep' | 'drop') {
    const body = { version, decision, reason: 'asked the employee' };
    await this.#call('POST', `/v1/deductions/${deductionId}/start-decision`, body);
  }

  protected override async assign({ deductionId, employerId, effectiveOn, reason }: Assigning) {
    const stated = effectiveOn === null ? {} : { effective_on: effectiveOn };
    const url = `/v1/deductions/${deductionId}/employer`;
    const body = { employer_id: employerId, reason, ...stated };
    const { status, json } = await this.#http.call({ method: 'PUT', url, body });
    if (status === 409) return (json.detail.match(/\bh\d+-run\d+\b/g) as string[]).sort();
    return { 201: 'assigned', 404: 'unknown', 422: 'not-employed' }[status] ?? json.detail;
  }

  protected override async bring({ id, deduction, coverage, ...opened }: ModelOpening): Promise<boolean> {
    const item = {
      ...{ id, employee_id: opened.employee, line_of_coverage: coverage, taxability: opened.taxability },
      ...{ member_amount: dollars(opened.amounts.member), employer_amount: dollars(opened.amounts.employer) },
      ...{ pay_date: opened.payDate, ...(deduction !== null && { deduction_id: deduction }) },
    };
    const url = `/v1/employers/${opened.employer}/opening-items`;
    const { status, text } = await this.#http.call({ method: 'POST', url, body: { items: [item] } });
    // The API refuses an employee or a deduction of no employer, and an item without an amount.
    const isRefused = status === 422 && /must be an employee|must be a deduction|must not be zero/.test(text);
    if (status !== 201 && !isRefused) throw new Error(text);
    return !isRefused;
  }

  protected override async decide(decision: ModelItemDecision, item: OpenItem | null): Promise<boolean> {
    const { employer, employee, action, amount, notBefore, until } = decision;
    const about = item !== null && {
      ...{ item_id: item.id, outstanding_member_amount: dollars(item.outstanding.member) },
      outstanding_employer_amount: dollars(item.outstanding.employer),
    };
    const fields = {
      ...(about || { employee_id: employee }),
      action,
      ...(amount !== null && action !== 'write_off' && { amount: dollars(amount) }),
      ...(notBefore !== null && { not_before: notBefore }),
      ...(until !== null && { until }),
      ...(action === 'paid_directly' && { paid_on: this.today }),
    };
    const url = `/v1/employers/${employer}/open-items/decisions`;
    const body = { decisions: [fields], reason: 'a test' };
    const { status, text } = await this.#http.call({ method: 'POST', url, body });
    // A pair is decided together, and only an employee of the employer is held.
    const isRefused = status === 422 && /must be decided together|must be an employee/.test(text);
    if (status !== 201 && !isRefused) throw new Error(`${JSON.stringify(body)}: ${text}`);
    return !isRefused;
  }

  protected override async override(runId: string, employeeId: string, deductionId: string, amounts: Pair) {
    const stated = { member_amount: dollars(amounts.member), employer_amount: dollars(amounts.employer) };
    const url = `/v1/payroll-runs/${runId}/overrides/${employeeId}/${deductionId}`;
    await this.#call('PUT', url, { ...stated, reason: 'a test' });
  }

  protected override async store(id: string, body: object): Promise<void> {
    await this.#call('PUT', `/v1/payroll-runs/${id}`, body);
  }

  protected override async shown(id: string): Promise<Json[]> {
    const lines: Json[] = [];
    for (let url: string | null = `/v1/payroll-runs/${id}/lines`; url !== null; ) {
      const { data, next_cursor } = await this.#call('GET', url);
      lines.push(...data);
      url = next_cursor === null ? null : `/v1/payroll-runs/${id}/lines?cursor=${next_cursor}`;
    }
    return lines;
  }

  /** Accepts all failed checks by name. */
  protected override async freeze(id: string) {
    const { checks, etag } = await this.#http.readiness(id);
    const accept = checks.filter(({ result }: Json) => result === 'fail').map((check: Json) => check.id);
    const { status, text } = await this.#http.finalize(id, { accept, reason: 'a test' }, etag);
    if (status === 200) return 'finalized';
    if (status === 409) return 'date-taken';
    throw new Error(text);
  }

  protected override async remove(id: string): Promise<void> {
    await this.#call('DELETE', `/v1/payroll-runs/${id}`);
  }

  protected override async cancel(id: string): Promise<void> {
    await this.#call('POST', `/v1/payroll-runs/${id}/void`, { reason: 'a mistake' });
  }

  protected override async report(id: string, row: Given): Promise<void> {
    await this.#call('POST', `/v1/payroll-runs/${id}/taken`, { lines: [row] });
  }

  async #call(method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, body?: object): Promise<Json> {
    const response = await this.#http.call({ method, url, ...(body !== undefined && { body }) });
    try {
      return this.#http.ok(response);
    } catch (error) {
      throw new Error(`${method} ${url} ${JSON.stringify(body)}`, { cause: error });
    }
  }
}

onEachEngine('every run of a year over HTTP has the lines of the model', async (t) => {
  const http = await begin(t, FIRST_MONDAY);
  const receiver = createReceiver({
    verify: createVerify([SECRET], () => new Date()),
    accept: (arrival) => receive(http.db, [arrival], http.now().toISOString()),
    refuse: (cause) => t.fail(cause),
    counts: createReceivingCounts(() => new Date(), []),
    isAlive: async () => true,
    isReady: async () => true,
  });
  t.teardown(() => receiver.close());
  let runs = 0;
  for (const [index, { schedules, steps }] of fc.sample(years, WORLDS).entries()) {
    const world = new HttpWorld(http, receiver, `h${index}`, schedules);
    await world.begin();
    for (const step of steps) await world.take(step);
    const read = Object.entries(RECORDS).map(async ([name, text]) => {
      const { rows } = await sql.raw(text).execute(http.db);
      return [name, rows];
    });
    // The stored lines are compared too: later runs read them.
    const records = Object.fromEntries(await Promise.all(read)) as Records;
    const differing = world.runs.flatMap(({ id }) => differences(records, id));
    t.strictSame(differing, [], `world ${index}, seed ${SEED}`);
    runs += world.runs.length;
  }
  t.pass(`${WORLDS} years with ${runs} runs`);
});
