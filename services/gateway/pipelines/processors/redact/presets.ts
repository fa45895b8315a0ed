import { isIPv6 } from 'node:net';

/** Takes the range of a secret in a text. */
export type SecretVisitor = (from: number, to: number) => void;

/** Finds secrets of one kind, in linear time. */
export type SecretFinder = (text: string, visit: SecretVisitor) => void;

const LOCAL_LENGTH_MAX = 64;
const DOMAIN_LENGTH_MAX = 255;
const IPV6_LENGTH_MAX = 45;
const LOCAL_LETTER = /[A-Za-z0-9._%+-]/;
const DOMAIN_LETTER = /[A-Za-z0-9.-]/;
const DOMAIN = /^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,63}/;
const IPV4 = /(?<![\w.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?!\w|\.\d)/g;
const COLONS = /[0-9A-Fa-f:.]+/g;
/** Numbers of cards as they are printed, or without spaces; each has at most 22 characters. */
const CARD = /(?<!\d)[2-6]\d{3}(?:([ -]?)\d{4}\1\d{4}\1\d{1,7}|[ -]\d{6}[ -]\d{4,5})(?!\d)/g;
const JWT = /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g;
const AWS_KEY = /(?<![A-Za-z0-9])(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA)[A-Z0-9]{16}(?![A-Za-z0-9])/g;
const BEARER = /\bbearer[ \t]+([A-Za-z0-9._~+/-]+=*)/gi;
const UUID = /(?<![0-9A-Za-z])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Za-z])/g;

/** Finders by the name that pipelines use. */
export const REDACT_PRESETS: ReadonlyMap<string, SecretFinder> = new Map(
  Object.entries<SecretFinder>({
    email: findEmails,
    ipv4: (text, visit) => {
      if (text.includes('.')) {
        eachMatch(text, IPV4, visit, (found) => found.split('.').every((part) => Number(part) < 256));
      }
    },
    ipv6: findIpv6,
    credit_card: findCards,
    jwt: (text, visit) => {
      if (text.includes('eyJ')) eachMatch(text, JWT, visit);
    },
    aws_key: (text, visit) => eachMatch(text, AWS_KEY, visit),
    bearer: (text, visit) => {
      // Only the token is a secret.
      for (const { 0: all, 1: token, index } of text.matchAll(BEARER)) {
        visit(index + all.length - token.length, index + all.length);
      }
    },
    uuid: (text, visit) => eachMatch(text, UUID, visit),
  }),
);

function eachMatch(
  text: string,
  pattern: RegExp,
  visit: SecretVisitor,
  accepts: (found: string) => boolean = () => true,
): void {
  for (const { 0: found, index } of text.matchAll(pattern)) if (accepts(found)) visit(index, index + found.length);
}

/** Reads from each `@` to both sides. */
function findEmails(text: string, visit: SecretVisitor): void {
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let from = at;
    while (from > 0 && at - from < LOCAL_LENGTH_MAX && LOCAL_LETTER.test(text[from - 1])) from--;
    let end = at + 1;
    while (end < text.length && end - at <= DOMAIN_LENGTH_MAX && DOMAIN_LETTER.test(text[end])) end++;
    const domain = DOMAIN.exec(text.slice(at + 1, end))?.[0];
    if (from < at && domain !== undefined) visit(from, at + 1 + domain.length);
  }
}

function findIpv6(text: string, visit: SecretVisitor): void {
  if (!text.includes(':')) return;
  for (const { 0: run, index } of text.matchAll(COLONS)) {
    // A dot or a colon after the address belongs to the sentence.
    const found = run.replace(/(?<!:):$|\.$/, '');
    const end = index + found.length;
    const isInWord = /\w/.test(text.charAt(index - 1)) || /[G-Zg-z_]/.test(text.charAt(end));
    if (!isInWord && found.length <= IPV6_LENGTH_MAX && isIPv6(found)) visit(index, end);
  }
}

function findCards(text: string, visit: SecretVisitor): void {
  const pattern = new RegExp(CARD);
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [found] = match;
    const digits = found.replace(/[ -]/g, '');
    if (digits.length >= 13 && digits.length <= 19 && hasLuhnSum(digits)) {
      visit(match.index, match.index + found.length);
    }
    // The first group may be another number.
    else pattern.lastIndex = match.index + 1;
  }
}

/** Whether the check digit of a number is right (ISO/IEC 7812-1). */
export function hasLuhnSum(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
