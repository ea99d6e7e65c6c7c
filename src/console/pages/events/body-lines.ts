/**
 * A body for people: JSON on lines of its own, each value as it was received, digit for digit, and what is personal
 * masked. Pure. It is no guard: a token with `events:read` may read the body as it is; the screen need not show it.
 */

/** `shown` is for the screen; `whole` tells two lines apart that are masked alike. */
export type Line = { readonly shown: string; readonly whole: string };

/** An event of the service has some twenty lines. What goes on beyond this is cut. */
export const LINES_MAX = 1_000;
/** A value on one line is cut beyond this. */
const LINE_CHARACTERS_MAX = 2_000;
export const MASK = '•••';

/**
 * Endings of the names of fields that hold what is personal, in small letters: `employee_name`, `homePhone`. A name
 * counts without digits at its end and in the singular too: `address1`, `names`. Whatever is in such a field is masked
 * whole. Better a plan's name masked than a person's shown.
 */
const PERSONAL = [
  // Who it is.
  ...['name', 'ssn', 'ssnlast', 'socialsecurity', 'socialsecuritynumber', 'taxid', 'taxpayerid', 'itin'],
  ...['nationalid', 'governmentid', 'passport', 'passportnumber', 'driverslicense', 'licensenumber'],
  ...['dob', 'dateofbirth', 'birth', 'birthdate', 'birthday', 'yearofbirth', 'signature', 'photo'],
  // What the person is like.
  ...[
    'sex',
    'gender',
    'maritalstatus',
    'ethnicity',
    'ethnicities',
    'race',
    'nationality',
    'citizenship',
    'religion',
  ],
  ...['disability', 'veteranstatus', 'spouse', 'dependent', 'child', 'children'],
  ...['beneficiary', 'beneficiaries'],
  // Where it is found.
  ...['address', 'addressline', 'street', 'line1', 'line2', 'line3', 'city', 'cities', 'zip', 'zipcode'],
  ...['postalcode', 'postcode', 'phone', 'phonenumber', 'mobile', 'mobilenumber', 'cell', 'fax', 'email'],
  ...['emailaddress', 'contact'],
  // What it earns, and where that goes.
  ...['payrate', 'rateofpay', 'hourlyrate', 'dailyrate', 'weeklyrate', 'biweeklyrate', 'monthlyrate'],
  ...['annualrate', 'yearlyrate', 'baserate', 'salaryrate', 'wagerate', 'overtimerate', 'salary', 'salaries'],
  ...['wage', 'basepay', 'grosspay', 'netpay', 'hourlypay', 'annualpay', 'compensation', 'earnings'],
  ...['income', 'accountnumber', 'routingnumber', 'iban'],
] as const;

/** Strings, signs, and what is neither: numbers, true, false, null. Right for a text that is JSON. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const INDENT = '  ';
/** Deeper than any event that is understood: from here on lines go no further in. */
const INDENTS_MAX = 32;

/** The lines of a body, at most `LINES_MAX`; null when it is not JSON, where nothing tells what is personal. */
export function linesOf(body: string): Line[] | null {
  try {
    JSON.parse(body);
  } catch {
    return null;
  }
  const tokens = body.match(TOKENS) ?? [];
  const lines: Line[] = [];
  let [shown, whole, level] = ['', '', 0];
  const put = (text: string, real = text): void => {
    if (shown === '') shown = INDENT.repeat(Math.min(level, INDENTS_MAX));
    shown += text;
    whole += real;
  };
  const breakLine = (): void => {
    if (shown !== '') lines.push({ shown: cut(shown), whole });
    [shown, whole] = ['', ''];
  };
  for (let at = 0; at < tokens.length && lines.length < LINES_MAX; at += 1) {
    const token = tokens[at] as string;
    if (isOpening(token)) {
      put(token);
      if (isClosing(tokens[at + 1])) continue;
      breakLine();
      level += 1;
    } else if (isClosing(token)) {
      if (!isOpening(tokens[at - 1])) {
        breakLine();
        level -= 1;
      }
      put(token);
    } else if (token === ',') {
      shown += ',';
      breakLine();
    } else if (token === ':') put(': ');
    else {
      put(token);
      if (tokens[at + 1] !== ':' || !isPersonal(token) || tokens[at + 2] === 'null') continue;
      const end = endOfValue(tokens, at + 2);
      put(`: ${MASK}`, `: ${tokens.slice(at + 2, end).join('')}`);
      at = end - 1;
    }
  }
  breakLine();
  return lines;
}

function isOpening(token: string | undefined): boolean {
  return token === '{' || token === '[';
}

function isClosing(token: string | undefined): boolean {
  return token === '}' || token === ']';
}

function isPersonal(name: string): boolean {
  const text: string = JSON.parse(name);
  const plain = text.toLowerCase().replace(/[^a-z0-9]/g, '');
  const undigited = plain.replace(/[0-9]+$/, '');
  const spellings = [plain, undigited, undigited.replace(/s$/, ''), undigited.replace(/es$/, '')];
  return spellings.some((spelling) => PERSONAL.some((ending) => spelling.endsWith(ending)));
}

/** Behind the last token of the value that begins at `from`. */
function endOfValue(tokens: readonly string[], from: number): number {
  let open = 0;
  for (let at = from; at < tokens.length; at += 1) {
    const token = tokens[at] as string;
    if (isOpening(token)) open += 1;
    else if (isClosing(token)) open -= 1;
    if (open === 0) return at + 1;
  }
  return tokens.length;
}

function cut(line: string): string {
  if (line.length <= LINE_CHARACTERS_MAX) return line;
  return `${line.slice(0, LINE_CHARACTERS_MAX)}… (${line.length - LINE_CHARACTERS_MAX} more characters)`;
}
