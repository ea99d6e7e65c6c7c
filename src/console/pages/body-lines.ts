/**
 * Formats a JSON body as lines. Values keep their digits as received, and personal fields are masked. The mask is no
 * protection: the token may read the body through the API; it only keeps personal data off the screen.
 */

/** `shown` is masked; `whole` is for comparing lines. */
export type Line = { readonly shown: string; readonly whole: string };

/** Events have about 20 lines; more than this are cut. */
export const LINES_MAX = 1_000;
const LINE_CHARACTERS_MAX = 2_000;
export const MASK = '•••';

/**
 * Endings of the names of personal fields, in lower case: `employee_name`, `homePhone`. Trailing digits and plurals are
 * ignored: `address1`, `names`. Such a field is masked whole. Masking a plan's name is better than showing a person's.
 */
const PERSONAL = [
  // Identity.
  'name ssn ssnlast socialsecurity socialsecuritynumber taxid taxpayerid itin nationalid governmentid passport',
  'passportnumber driverslicense licensenumber dob dateofbirth birth birthdate birthday yearofbirth signature photo',
  // Characteristics and family.
  'sex gender maritalstatus ethnicity ethnicities race nationality citizenship religion disability veteranstatus',
  'spouse dependent child children beneficiary beneficiaries',
  // Contact.
  'address addressline street line1 line2 line3 city cities zip zipcode postalcode postcode phone phonenumber',
  'mobile mobilenumber cell fax email emailaddress contact',
  // Pay and bank accounts.
  'payrate rateofpay hourlyrate dailyrate weeklyrate biweeklyrate monthlyrate annualrate yearlyrate baserate',
  'salaryrate wagerate overtimerate salary salaries wage basepay grosspay netpay hourlypay annualpay compensation',
  'earnings income accountnumber routingnumber iban',
].flatMap((line) => line.split(' '));

/** Strings, punctuation, and other values. Correct for valid JSON. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const INDENTS_MAX = 32;

/** Returns at most `LINES_MAX` lines; null for a body that is not JSON, where personal fields cannot be found. */
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
    if (shown === '') shown = '  '.repeat(Math.min(level, INDENTS_MAX));
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
  const undigited = plain.replace(/(?<![0-9])[0-9]+$/, '');
  const spellings = [plain, undigited, undigited.replace(/s$/, ''), undigited.replace(/es$/, '')];
  return spellings.some((spelling) => PERSONAL.some((ending) => spelling.endsWith(ending)));
}

/** Returns the index after the value that starts at `from`. */
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

/** Marks the lines of two texts that are outside their longest common subsequence. Takes n × m steps. */
export function differenceOf(one: readonly string[], other: readonly string[]) {
  const width = other.length + 1;
  const common = new Uint16Array((one.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] as number;
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      const longest = Math.max(at(i + 1, j), at(i, j + 1));
      common[i * width + j] = one[i] === other[j] ? at(i + 1, j + 1) + 1 : longest;
    }
  }
  const differs = { one: one.map(() => true), other: other.map(() => true) };
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    if (one[i] === other[j]) {
      differs.one[i] = false;
      differs.other[j] = false;
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return differs;
}
