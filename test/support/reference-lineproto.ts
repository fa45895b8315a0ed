/**
 * Line protocol read the plain way: texts, regular expressions, objects. Slow and short, to hold the real decoder
 * against. Written from the grammar alone.
 */

export type ReferenceValue = number | bigint | boolean | string;

export interface ReferenceRow {
  readonly table: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Native type and value. */
  readonly fields: Readonly<Record<string, readonly [type: string, value: ReferenceValue]>>;
  readonly timeNs: bigint;
}

export interface ReferenceResult {
  readonly rows: readonly ReferenceRow[];
  /** In the order and wording of the reply. */
  readonly rejected: readonly string[];
  /** Rows that a type kept out. */
  readonly conflictCount: number;
}

const UNIT_NS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const TIME_MAX = 9_223_372_036_854_775_806n;
const KEY_MAX = 65_535;

/** @throws the reason of a line. */
class Refusal extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

export function referenceLineproto(body: string, precision: string, nowNs: bigint): ReferenceResult {
  const rows: ReferenceRow[] = [];
  const rejected: string[] = [];
  const types = new Map<string, string>();
  let conflictCount = 0;
  for (const line of splitLines(body)) {
    try {
      const row = parseLine(line, precision, nowNs, types);
      if (row === undefined) conflictCount++;
      else rows.push(row);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      rejected.push(`unable to parse '${shortened(line)}': ${error.reason}`);
    }
  }
  return { rows, rejected, conflictCount };
}

/** At most 256 bytes, whole characters. */
function shortened(line: string): string {
  let text = '';
  for (const character of line) {
    if (Buffer.byteLength(text + character) > 256) break;
    text += character;
  }
  return text;
}

function splitLines(body: string): string[] {
  const lines: string[] = [];
  let rest = body;
  while (rest !== '') {
    const trimmed = rest.replace(/^[ \t\0]+/, '');
    const length = trimmed.startsWith('#') ? /^[^\n]*/.exec(trimmed)![0].length : lineLength(trimmed);
    const line = trimmed.slice(0, length).replace(/\r$/, '');
    if (line !== '' && !line.startsWith('#')) lines.push(line);
    rest = trimmed.slice(length + 1);
  }
  return lines;
}

/** Characters up to the line break that no backslash and no quoted value covers. */
function lineLength(text: string): number {
  let inFields = false;
  let balance = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '\\') i++;
    else if (quoted) quoted = c !== '"';
    else if (c === '\n') return i;
    else if (c === ' ') inFields = true;
    else if (inFields && c === '=') balance++;
    else if (inFields && c === ',') balance--;
    else if (inFields && c === '"' && balance > 0 && text[i - 1] === '=') quoted = true;
  }
  return text.length;
}

function parseLine(
  line: string,
  precision: string,
  nowNs: bigint,
  types: Map<string, string>,
): ReferenceRow | undefined {
  if (line.startsWith(',')) throw new Refusal('missing measurement');
  const key = /^[^](?:(?<=\\) |[^ ])*/.exec(line)![0];
  const keyBytes = Buffer.byteLength(key);
  if (keyBytes > KEY_MAX) throw new Refusal(`max key length exceeded: ${keyBytes} > ${KEY_MAX}`);
  const [measurement, ...parts] = splitUnescaped(key, ',');
  const table = measurement.replace(/\\([, ="])/g, '$1');
  const tags: Record<string, string> = {};
  let duplicate = false;
  for (const part of parts) {
    const [name, value] = parseTag(part);
    duplicate ||= Object.hasOwn(tags, name);
    Object.defineProperty(tags, name, { value, enumerable: true, configurable: true });
  }
  if (duplicate) throw new Refusal('duplicate tags');

  const rest = line.slice(key.length).replace(/^ +/, '');
  if (rest === '') throw new Refusal('missing fields');
  checkTable(table);
  for (const name of Object.keys(tags)) checkColumn('tag', name);
  if (/^[\t\0]/.test(rest)) throw new Refusal('invalid field format');
  const { fields, end, isConflict } = parseFields(rest, { table, tags, keyBytes }, types);
  if (isConflict) return undefined;
  const timeNs = parseTime(rest.slice(end), precision, nowNs);
  // Only a row that stays decides the types of its fields.
  for (const [name, [type]] of Object.entries(fields)) types.set(`${table}\n${name}`, type);
  return { table, tags, fields, timeNs };
}

function splitUnescaped(text: string, separator: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let i = 1; i < text.length; i++) {
    // A part's first character has nothing before it that could take its meaning.
    if (text[i] === separator && (text[i - 1] !== '\\' || i === from)) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

function parseTag(part: string): [name: string, value: string] {
  if (part === '' || part.startsWith('=')) throw new Refusal('missing tag key');
  const [name, ...values] = splitUnescaped(part, '=');
  if (values.length === 0 || (values.length === 1 && values[0] === '')) throw new Refusal('missing tag value');
  if (values.length > 1) throw new Refusal('invalid tag format');
  return [unescape(name), unescape(values[0])];
}

function parseFields(
  text: string,
  series: { readonly table: string; readonly tags: Readonly<Record<string, string>>; readonly keyBytes: number },
  types: ReadonlyMap<string, string>,
): { fields: Record<string, readonly [string, ReferenceValue]>; end: number; isConflict: boolean } {
  const fields: Record<string, readonly [string, ReferenceValue]> = {};
  let at = 0;
  for (;;) {
    const match = /^((?:[^,= ]|(?<=\\)[,= ])*)(?<!\\)=/.exec(text.slice(at));
    if (match === null) throw new Refusal('invalid field format');
    const rawName = match[1];
    if (rawName === '') throw new Refusal('missing field key');
    const size = series.keyBytes + 4 + Buffer.byteLength(rawName);
    if (size > KEY_MAX) throw new Refusal(`max key length exceeded: ${size} > ${KEY_MAX}`);
    at += match[0].length;
    if (at === text.length || /^[, ]/.test(text.slice(at))) throw new Refusal('missing field value');
    const { type, value, length } = parseValue(text.slice(at));
    const name = unescape(rawName);
    checkColumn('field', name);
    if (Object.hasOwn(series.tags, name)) {
      throw new Refusal(`input field "${name}" on measurement "${series.table}" is already a tag`);
    }
    const known = types.get(`${series.table}\n${name}`) ?? (Object.hasOwn(fields, name) ? fields[name][0] : type);
    if (known !== type) return { fields, end: 0, isConflict: true };
    Object.defineProperty(fields, name, { value: [type, value], enumerable: true, configurable: true });
    at += length;
    if (text[at] !== ',') return { fields, end: at, isConflict: false };
    at++;
  }
}

function parseValue(text: string): { type: string; value: ReferenceValue; length: number } {
  if (text.startsWith('"')) {
    const match = /^"((?:[^"\\]|\\[^])*)"/.exec(text);
    if (match === null) throw new Refusal('unbalanced quotes');
    const { length } = match[0];
    if (length < text.length && !/[, ]/.test(text[length])) throw new Refusal('invalid field format');
    return { type: 'String', value: match[1].replace(/\\(["\\])/g, '$1'), length };
  }
  const token = /^[^, ]*/.exec(text)![0];
  const value = /^[0-9.nN-]/.test(token) ? parseNumber(token) : parseBoolean(token);
  return { ...value, length: token.length };
}

function parseNumber(token: string): { type: string; value: ReferenceValue } {
  if (/^-?[0-9]+i$/.test(token)) {
    const value = BigInt(token.slice(0, -1));
    if (BigInt.asIntN(64, value) === value) return { type: 'Int64', value };
    throw new Refusal(`unable to parse integer ${token.slice(0, -1)}: value out of range`);
  }
  if (/^[0-9]+u$/.test(token)) {
    const value = BigInt(token.slice(0, -1));
    if (BigInt.asUintN(64, value) === value) return { type: 'UInt64', value };
    throw new Refusal(`unable to parse unsigned ${token.slice(0, -1)}: value out of range`);
  }
  if (/^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(token)) {
    if (Number.isFinite(Number(token))) return { type: 'Float64', value: Number(token) };
    // Only a float with an exponent, or one of hundreds of digits, is too large.
    throw new Refusal(/[eE]/.test(token) ? 'invalid float' : 'invalid number');
  }
  const isScientific = /^-?[0-9.]*(?:[eE][+-]*[0-9.]*)+$/.test(token) && !/(^|[^eE])[+-]/.test(token.slice(1));
  const points = token.split('.').length - 1;
  throw new Refusal(isScientific && points <= 1 ? 'invalid float' : 'invalid number');
}

function parseBoolean(token: string): { type: string; value: boolean } {
  if (/^(t|T|true|True|TRUE)$/.test(token)) return { type: 'Boolean', value: true };
  if (/^(f|F|false|False|FALSE)$/.test(token)) return { type: 'Boolean', value: false };
  throw new Refusal('invalid boolean');
}

function parseTime(text: string, precision: string, nowNs: bigint): bigint {
  const unit = UNIT_NS[precision];
  const trimmed = text.replace(/^ +/, '');
  if (trimmed === '') return (nowNs / unit) * unit;
  const token = /^[^ ]*/.exec(trimmed)![0];
  if (!/^-?[0-9]+$/.test(token)) throw new Refusal('bad timestamp');
  const time = BigInt(token) * unit;
  if (time > TIME_MAX || time < -TIME_MAX) {
    throw new Refusal('time outside range -9223372036854775806 - 9223372036854775806');
  }
  if (/[^ ]/.test(trimmed.slice(token.length))) throw new Refusal('point is invalid');
  return time;
}

function unescape(text: string): string {
  return text.replace(/\\([, =])/g, '$1');
}

function checkTable(name: string): void {
  if (Buffer.byteLength(name) > 255) throw new Refusal('measurement name is longer than 255 bytes');
  if (/[\0-\x1f\x7f]/.test(name)) throw new Refusal('measurement name has control characters');
}

function checkColumn(kind: string, name: string): void {
  if (Buffer.byteLength(name) > 255) throw new Refusal(`${kind} name is longer than 255 bytes`);
  if (/^__(sid|tsid|op|metric)$/i.test(name)) throw new Refusal(`${kind} name "${name}" is reserved`);
}
