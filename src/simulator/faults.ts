/** Deliberate faults: `NAME[=VALUE][:COUNT][@ID]`. They are counted, never random, so runs can be repeated. */
import { AppError } from '../errors.ts';

type FaultKind = {
  /** The scope of a fault: a request to the endpoints, or a delivery of an event. */
  meets: 'request' | 'delivery';
  /** The type of VALUE; `none` takes no value. */
  value: 'none' | 'duration' | 'status' | 'number';
  /** The default of VALUE; null: it is required. */
  usual: number | null;
  about: string;
};

export const FAULTS = {
  latency: request('duration', null, 'the response is delayed by this time'),
  hang: request('none', 0, 'accepted, but never responded to'),
  reset: request('none', 0, 'the connection is reset; nothing is applied'),
  'rate-limit': request('duration', 1_000, '429 with Retry-After, in whole seconds'),
  error: request('status', 500, 'a 5xx status; nothing is applied'),
  'lost-response': request('none', 0, 'applied, then the connection is reset'),
  'half-response': request('none', 0, 'applied, but the response is cut off in its body'),
  'wrong-key': request('none', 0, '401, whatever the key'),
  forbidden: request('none', 0, '403'),
  'ignore-keys': request('none', 0, 'a repeated idempotency key is applied again'),
  duplicate: delivery('number', 2, 'an event is delivered this many times at once'),
  reorder: delivery('number', 2, 'this many events are held back and delivered newest first'),
  'bad-signature': delivery('none', 0, 'an attempt is signed with an unknown secret'),
} as const satisfies Record<string, FaultKind>;

export type FaultName = keyof typeof FAULTS;
type NameOf<Meets> = { [N in FaultName]: (typeof FAULTS)[N]['meets'] extends Meets ? N : never }[FaultName];
export type RequestFault = NameOf<'request'>;
type DeliveryFault = NameOf<'delivery'>;

/** These change a request that another fault may affect as well. */
const MODIFIERS: ReadonlySet<FaultName> = new Set(['latency', 'ignore-keys']);

export type Fault = {
  name: FaultName;
  /** Milliseconds, a status or a number. */
  value: number;
  /** How many requests or deliveries it affects; null: all until it is removed. */
  times: number | null;
  /** The employer or employee that a request must be about; null: any. */
  id: string | null;
};

/** A fault as given: how many it affected, and how many are left (null: no limit). */
export type FaultState = { fault: string; met: number; left: number | null };

export type Faults = ReturnType<typeof createFaults>;

export function createFaults(texts: readonly string[] = []) {
  const parse = (next: readonly string[]) => next.map((text) => ({ text, fault: parseFault(text), met: 0 }));
  let entries = parse(texts);
  const meet = (applies: (fault: Fault) => boolean): Fault | null => {
    const entry = entries.find(({ fault, met }) => applies(fault) && met < (fault.times ?? Infinity));
    if (entry !== undefined) entry.met += 1;
    return entry?.fault ?? null;
  };
  return {
    /** Replaces all faults. Throws FAULT_REFUSED, and then changes nothing. */
    set: (next: readonly string[]): void => {
      entries = parse(next);
    },
    states: (): FaultState[] =>
      entries.map(({ text: fault, fault: { times }, met }) => {
        return { fault, met, left: times === null ? null : times - met };
      }),
    /** Counts a request about any of these employers and employees: one fault decides its response. */
    meetRequest: (ids: readonly string[]) => {
      const meetBy = (is: (name: FaultName) => boolean) =>
        meet(({ name, id }) => is(name) && (id === null || ids.includes(id)));
      return {
        fault: meetBy((name) => FAULTS[name].meets === 'request' && !MODIFIERS.has(name)),
        delayMs: meetBy((name) => name === 'latency')?.value ?? 0,
        ignoresKeys: meetBy((name) => name === 'ignore-keys') !== null,
      };
    },
    /** Counts a delivery. Returns the fault's value, or null. */
    meetDelivery: (name: DeliveryFault) => meet((fault) => fault.name === name)?.value ?? null,
  };
}

const TEXT = /^([a-z-]+)(?:=([^:@]*))?(?::([^@]*))?(?:@(.+))?$/s;
const COUNT_MOST = 1_000_000;
/** Maximum duration of a fault: an hour. Every client stops waiting earlier. */
const DURATION_MOST_MS = 3_600_000;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };
/** Maximum number that a fault takes, such as duplicates of an event. */
const NUMBER_MOST = 1_000;

/** Parses `NAME[=VALUE][:COUNT][@ID]`. Throws FAULT_REFUSED. */
export function parseFault(text: string): Fault {
  const [, name = '', value, count, id = null] = TEXT.exec(text) ?? [];
  if (!isName(name)) {
    throw refusal(`It must be NAME[=VALUE][:COUNT][@ID], NAME one of ${Object.keys(FAULTS).join(', ')}.`);
  }
  const kind: FaultKind = FAULTS[name];
  if (id !== null && kind.meets === 'delivery') {
    throw refusal(`${name} takes no @ID: it concerns events, not the requests of an employee.`);
  }
  const countRule = `The count of ${name} must be 1 to ${COUNT_MOST}.`;
  return {
    name,
    value: readValue(name, kind, value),
    times: count === undefined ? null : wholeNumber(count, 1, COUNT_MOST, countRule),
    id,
  };
}

function refusal(rule: string): AppError {
  return new AppError('FAULT_REFUSED', rule);
}

function isName(text: string): text is FaultName {
  return Object.hasOwn(FAULTS, text);
}

function readValue(name: FaultName, kind: FaultKind, text: string | undefined): number {
  if (text === undefined) {
    if (kind.usual !== null) return kind.usual;
    throw refusal(`${name} needs a value, such as ${name}=200ms.`);
  }
  switch (kind.value) {
    case 'none':
      throw refusal(`${name} takes no value; a count is written ${name}:3.`);
    case 'duration':
      return durationOf(name, text);
    case 'status':
      if (/^5\d\d$/.test(text)) return Number(text);
      throw refusal(`${name} takes a status of 500 to 599, such as ${name}=503.`);
    case 'number':
      return wholeNumber(text, 2, NUMBER_MOST, `${name} takes a number of 2 to ${NUMBER_MOST}.`);
  }
}

function durationOf(name: FaultName, text: string): number {
  const [, count, unit = ''] = /^(\d{1,7})(ms|s|m)$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  if (ms > 0 && ms <= DURATION_MOST_MS) return ms;
  throw refusal(`${name} takes a time of at most an hour, such as 200ms, 2s or 1m.`);
}

function wholeNumber(text: string, least: number, most: number, rule: string): number {
  const number = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw refusal(rule);
}

function request(value: FaultKind['value'], usual: number | null, about: string) {
  return { meets: 'request', value, usual, about } as const;
}

function delivery(value: FaultKind['value'], usual: number | null, about: string) {
  return { meets: 'delivery', value, usual, about } as const;
}
