/** A part of a line: its own text, or a mask for what differs between similar lines. */
export interface LinePart {
  readonly text: string;
  /** Regular expression for what the mask stands for; undefined for text of the line. */
  readonly regex: string | undefined;
}

/** What similar lines have in common. */
export interface MaskedLine {
  /** Equal for lines of one pattern. */
  readonly key: string;
  readonly parts: readonly LinePart[];
  /** Whether the line continues after the pattern. */
  readonly isCut: boolean;
}

/** What is looked at of a line, in UTF-16 units. */
const LOOKED_AT_MAX = 4000;
/**
 * Lengths from which a pattern ends before the next space, and anywhere: a longer one would be neither read nor searched for.
 * They are those of the pattern, so that it ends at the same place for all of its lines.
 */
const [LENGTH_MAX, LENGTH_MAX_WITHOUT_SPACES] = [400, 500];

interface MaskRule extends LinePart {
  readonly pattern: RegExp;
  readonly accepts?: (text: string) => boolean;
}

const WORD_END = '(?![\\p{L}\\p{N}_])';

function ruleOf(text: string, regex: string, accepts?: (text: string) => boolean, end = WORD_END): MaskRule {
  return { text, regex, pattern: new RegExp(regex + end, 'uy'), ...(accepts === undefined ? {} : { accepts }) };
}

const hasDigit = (text: string): boolean => /\d/.test(text);
const isAddress = (text: string): boolean => hasDigit(text) && (text.includes('::') || text.split(':').length === 8);
const isHex = (text: string): boolean => /^0x/i.test(text) || (hasDigit(text) && /[a-f]/i.test(text));

// The first one that fits wins. Each is valid in the syntax of the server and in that of the browser, and repeats nothing
// within a repetition, so that it is matched in linear time.
const RULES: readonly MaskRule[] = [
  ruleOf(
    '<time>',
    '\\d{4}[-/]\\d\\d[-/]\\d\\d(?:[T ]\\d\\d:\\d\\d(?::\\d\\d(?:[.,]\\d+)?)?(?:Z| ?[+-]\\d\\d:?\\d\\d)?)?',
  ),
  ruleOf('<time>', '\\d\\d?/[A-Z][a-z]{2}/\\d{4}(?::\\d\\d:\\d\\d:\\d\\d(?: [+-]\\d{4})?)?'),
  ruleOf('<time>', '[A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?'),
  ruleOf('<time>', '\\d\\d?:\\d\\d:\\d\\d(?:[.,]\\d+)?'),
  ruleOf('<uuid>', '[\\da-fA-F]{8}(?:-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}'),
  ruleOf('<ip>', '\\d{1,3}(?:\\.\\d{1,3}){3}(?::\\d{1,5})?(?:/\\d\\d?)?'),
  ruleOf('<ip>', '(?:[\\da-fA-F]{0,4}:){2,7}[\\da-fA-F]{0,4}', isAddress),
  ruleOf('<hex>', '(?:0[xX][\\da-fA-F]+|[\\da-fA-F]{6,})', isHex),
  // A unit stays in the pattern.
  ruleOf('<number>', '-?\\d+(?:\\.\\d+)*', undefined, `(?=[A-Za-zµ]{0,3}${WORD_END})`),
];
/** Digits within a word, such as `web-1` and `utf8`. */
const DIGITS: LinePart = { text: '<number>', regex: '\\d+' };
/** A word with several numbers in it. */
const ID: LinePart = { text: '<id>', regex: '\\w+' };
const SPACE: LinePart = { text: ' ', regex: '\\s+' };
const COLOUR: LinePart = { text: '', regex: '\\x1b\\[[\\d;]*[A-Za-z]' };
const DOUBLE_QUOTED: LinePart = { text: '"<text>"', regex: '"(?:[^"\\\\]|\\\\.)*"' };
const SINGLE_QUOTED: LinePart = { text: "'<text>'", regex: "'[^']*'" };
/** A text whose end was not looked at. */
const OPEN_QUOTED: LinePart = { text: '"<text>', regex: '"' };

const MASKS = [...RULES, DIGITS, ID, SPACE, COLOUR, DOUBLE_QUOTED, SINGLE_QUOTED, OPEN_QUOTED];
const MASK_KEYS = new Map<LinePart, string>(MASKS.map((mask, i) => [mask, `\u0000${i}\u0000`]));

const WORD = /[\p{L}\p{N}_]+/uy;
const SPACES = /[ \t\n\r\f]+/y;
const COLOUR_CODE = new RegExp(String(COLOUR.regex), 'y');
const QUOTES: Readonly<Record<string, readonly [LinePart, RegExp]>> = {
  '"': [DOUBLE_QUOTED, new RegExp(String(DOUBLE_QUOTED.regex), 'y')],
  "'": [SINGLE_QUOTED, new RegExp(String(SINGLE_QUOTED.regex), 'y')],
};
const MONTH = /^[A-Z][a-z]{2}$/;
const HEX_WORD = /^[\da-fA-F]{1,8}$/;
/** Values of these fields say what a line is about. */
const MESSAGE_KEY = /(?:^|[^\w])(?:msg|message|event|error|err|reason|level|lvl|severity)["']?\s*[:=]\s*$/i;
const KEY_LOOK_BACK = 40;

/** Masks numbers, hexadecimal numbers, UUIDs, addresses of IP, times, and texts in quotes, of which it keeps keys and messages. */
export function maskLine(line: string): MaskedLine {
  return new LineMasker(line).masked();
}

/** Returns a regular expression that finds the lines of a pattern, for the server and for the browser. */
export function patternRegex({ parts, isCut }: Pick<MaskedLine, 'parts' | 'isCut'>): string {
  const body = parts.map(({ text, regex }) => regex ?? escapedText(text)).join('');
  return `^${body}${isCut ? '' : '$'}`;
}

function escapedText(text: string): string {
  return text
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/[\u0000-\u001f\u007f]/g, (unit) => `\\x${unit.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

class LineMasker {
  readonly #text: string;
  /** Whether the line continues after the text. */
  readonly #isCut: boolean;
  readonly #parts: LinePart[] = [];
  #key = '';
  /** Of the pattern, without the text that is not in a part yet. */
  #length = 0;
  #at = 0;
  /** Start of the text that is not in a part yet. */
  #from = 0;
  /** Quotes up to here are those of a text that is kept. */
  #keptTo = -1;

  constructor(line: string) {
    this.#text = beginningOf(line);
    this.#isCut = this.#text.length < line.length;
  }

  masked(): MaskedLine {
    while (this.#at < this.#text.length && !this.#isFull()) this.#next();
    const isCut = this.#isCut || this.#at < this.#text.length;
    this.#flush(this.#at);
    return { key: `${this.#key}${isCut ? '\u0000' : ''}`, parts: this.#parts, isCut };
  }

  #isFull(): boolean {
    const length = this.#length + this.#at - this.#from;
    if (length < LENGTH_MAX) return false;
    if (length < LENGTH_MAX_WITHOUT_SPACES) return this.#text[this.#at] === ' ';
    return !endsInPair(this.#text, this.#at);
  }

  #next(): void {
    const unit = this.#text[this.#at];
    if (unit in QUOTES && this.#at > this.#keptTo) this.#quoted(unit);
    else if (!this.#take(SPACES, SPACE) && !this.#take(COLOUR_CODE, COLOUR) && !this.#word(unit)) this.#at++;
  }

  #quoted(quote: string): void {
    const [mask, pattern] = QUOTES[quote];
    const before = this.#text[this.#at - 1];
    const end = endOf(pattern, this.#text, this.#at);
    if (end === undefined) {
      if (quote === '"' && this.#isCut) this.#mask(OPEN_QUOTED, this.#text.length);
      else this.#at++;
      return;
    }
    // The quote of "don't" begins no text.
    const isApostrophe = quote === "'" && (isWordPart(before) || isWordPart(this.#text[end]));
    if (isApostrophe) this.#at++;
    else if (this.#isKept(end)) {
      this.#keptTo = end - 1;
      this.#at++;
    } else this.#mask(mask, end);
  }

  /** Whether the text in quotes up to `end` is a key of JSON, or the message of the line. */
  #isKept(end: number): boolean {
    const before = this.#text.slice(Math.max(0, this.#at - KEY_LOOK_BACK), this.#at);
    if (MESSAGE_KEY.test(before)) return true;
    return /[{,]\s*$/.test(before) && /^\s{0,10}:/.test(this.#text.slice(end, end + 11));
  }

  /** Takes a word, or what a rule masks. @returns false if there is neither. */
  #word(unit: string): boolean {
    const end = endOf(WORD, this.#text, this.#at);
    if (end === undefined) {
      const isStart = (unit === '-' || unit === ':') && !isWordPart(this.#text[this.#at - 1]);
      return isStart && this.#rule();
    }
    const word = this.#text.slice(this.#at, end);
    const mayBeMasked =
      hasDigit(word) || MONTH.test(word) || (/[:-]/.test(this.#text[end] ?? '') && HEX_WORD.test(word));
    if (mayBeMasked && this.#rule()) return true;
    this.#digits(word);
    this.#at = end;
    return true;
  }

  #rule(): boolean {
    for (const rule of RULES) {
      const end = endOf(rule.pattern, this.#text, this.#at);
      if (end === undefined || rule.accepts?.(this.#text.slice(this.#at, end)) === false) continue;
      this.#mask(rule, end);
      return true;
    }
    return false;
  }

  #digits(word: string): void {
    const runs = [...word.matchAll(/\d+/g)];
    const start = this.#at;
    if (runs.length > 1 && /^\w+$/.test(word)) {
      this.#mask(ID, start + word.length);
      return;
    }
    for (const { index, 0: digits } of runs) {
      this.#at = start + index;
      this.#mask(DIGITS, this.#at + digits.length);
    }
  }

  #take(pattern: RegExp, mask: LinePart): boolean {
    const end = endOf(pattern, this.#text, this.#at);
    if (end !== undefined) this.#mask(mask, end);
    return end !== undefined;
  }

  #mask(mask: LinePart, end: number): void {
    this.#flush(this.#at);
    this.#parts.push(mask);
    this.#key += MASK_KEYS.get(mask) ?? '';
    this.#length += mask.text.length;
    this.#at = this.#from = end;
  }

  #flush(to: number): void {
    if (to <= this.#from) return;
    const text = this.#text.slice(this.#from, to);
    this.#parts.push({ text, regex: undefined });
    this.#key += text;
    this.#length += text.length;
  }
}

function beginningOf(line: string): string {
  if (line.length <= LOOKED_AT_MAX) return line;
  return line.slice(0, endsInPair(line, LOOKED_AT_MAX) ? LOOKED_AT_MAX - 1 : LOOKED_AT_MAX);
}

/** Whether a text would end with half of a surrogate pair, which is no character. */
function endsInPair(text: string, end: number): boolean {
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
}

/** Returns where the match of a sticky pattern ends; undefined if it does not match. */
function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function isWordPart(unit: string | undefined): boolean {
  return unit !== undefined && /[\p{L}\p{N}_]/u.test(unit);
}
