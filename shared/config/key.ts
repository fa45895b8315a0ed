import { AlmanacError } from '#shared/errors/almanac-error';
import { parseByteSize, printByteSize } from '#shared/time/byte-size';
import { parseDurationMs, printDurationMs } from '#shared/time/duration';

import { isEveryAddress } from './address.js';
import type { Role } from './role.js';

const MEBIBYTE = 1024 * 1024;

/** Properties of the machine that some defaults depend on. */
export interface Machine {
  readonly memoryBytes: number;
  /** Memory limit of the container that this process runs in, if there is one. */
  readonly containerMemoryBytes: number | undefined;
}

/** A value before parsing: typed if it comes from a file, text if it comes from a flag or the environment. */
export type RawValue = string | number | boolean | readonly string[];

/**
 * One configuration key: its type, default, range and description, declared once.
 *
 * `T` is the type of the value in `Config`, `Unit` the unit that its property name ends with.
 */
export interface Key<T, Unit extends string = ''> {
  readonly unit: Unit;
  readonly defaultValue: (machine: Machine, role: Role) => T;
  readonly doc: string;
  /** Allowed values, for messages and the reference page: `a duration such as "30s"`. */
  readonly allowed: string;
  /** Whether the value may be read from a file of its own, as secrets are. */
  readonly isText: boolean;
  /** Whether the value is a secret, which is never printed. */
  readonly isSecret?: boolean;
  /** Parses and validates a value. @throws `invalid_arguments` if it is not allowed. */
  readonly parse: (raw: RawValue, machine: Machine) => T;
  /** Prints the value as TOML; only called for keys that are set. */
  print(value: NonNullable<T>): string;
}

/** One default per role. */
export type ByRole<T> = Readonly<Record<Role, T>>;

interface Shared<T> {
  readonly default: T;
  readonly doc: string;
}

/** A key whose value is a duration in milliseconds. */
export function duration(options: Shared<string> & { min?: string; max?: string }): Key<number, 'Ms'> {
  const min = parseDurationMs(options.min ?? '0s');
  const max = parseDurationMs(options.max ?? '100years');
  const range = rangeText(options.min, options.max);
  return {
    unit: 'Ms',
    defaultValue: () => parseDurationMs(options.default),
    doc: options.doc,
    allowed: `a duration such as "30s" or "1h 30m"${range}`,
    isText: false,
    parse: (raw) => inRange(parseDurationMs(textOf(raw)), min, max),
    print: (value) => quote(printDurationMs(value)),
  };
}

/** A key whose value is a size in bytes. */
export function size(options: Shared<string> & { min?: string; max?: string }): Key<number, 'Bytes'> {
  const min = parseByteSize(options.min ?? '0');
  const max = options.max === undefined ? Number.MAX_SAFE_INTEGER : parseByteSize(options.max);
  const range = rangeText(options.min, options.max);
  return {
    unit: 'Bytes',
    defaultValue: () => parseByteSize(options.default),
    doc: options.doc,
    allowed: `a size such as "64MiB"${range}`,
    isText: false,
    parse: (raw) => inRange(parseByteSize(typeof raw === 'number' ? `${raw}` : textOf(raw)), min, max),
    print: (value) => quote(printByteSize(value)),
  };
}

/** A key whose value is a size, or a percentage of the memory that this process may use. */
export function percentOrSize(options: {
  readonly default: (machine: Machine) => number;
  readonly min: string;
  readonly doc: string;
}): Key<number, 'Bytes'> {
  const min = parseByteSize(options.min);
  return {
    unit: 'Bytes',
    defaultValue: options.default,
    doc: options.doc,
    allowed: `a size such as "4GiB" or a share of the memory such as "50%", at least ${options.min}`,
    isText: false,
    parse: (raw, machine) => {
      const percent = typeof raw === 'string' ? /^\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*$/.exec(raw) : null;
      if (percent === null) return inRange(parseByteSize(typeof raw === 'number' ? `${raw}` : textOf(raw)), min);
      if (Number(percent[1]) > 100) throw refusal('more than all of the memory');
      const whole = machine.containerMemoryBytes ?? machine.memoryBytes;
      return inRange(wholeMebibytes((whole * Number(percent[1])) / 100), min);
    },
    print: (value) => quote(printByteSize(value)),
  };
}

/** A key that is true or false. */
export function flag(options: Shared<boolean | ByRole<boolean>>): Key<boolean> {
  return {
    unit: '',
    defaultValue: (_, role) => forRole(options.default, role),
    doc: options.doc,
    allowed: 'true or false',
    isText: false,
    parse: (raw) => {
      if (raw === true || raw === 'true') return true;
      if (raw === false || raw === 'false') return false;
      throw refusal('not a truth value');
    },
    print: (value) => `${value}`,
  };
}

/** A key whose value is a whole number within a range. */
export function integer(options: Shared<number | ByRole<number>> & { min: number; max: number }): Key<number> {
  return {
    unit: '',
    defaultValue: (_, role) => forRole(options.default, role),
    doc: options.doc,
    allowed: `a whole number from ${options.min} to ${options.max}`,
    isText: false,
    parse: (raw) => {
      const isNumber = typeof raw === 'number' ? Number.isInteger(raw) : /^-?[0-9]+$/.test(textOf(raw));
      if (!isNumber) throw refusal('not a whole number');
      return inRange(Number(raw), options.min, options.max);
    },
    print: (value) => `${value}`,
  };
}

/** A key whose value is one of a fixed set of words. */
export function oneOf<T extends string>(values: readonly T[], options: Shared<NoInfer<T>>): Key<T> {
  return {
    unit: '',
    defaultValue: () => options.default,
    doc: options.doc,
    allowed: `one of ${values.map(quote).join(', ')}`,
    isText: false,
    parse: (raw) => {
      const found = values.find((value) => value === raw);
      if (found === undefined) throw refusal('not one of the choices');
      return found;
    },
    print: quote,
  };
}

interface TextRules {
  readonly pattern?: RegExp;
  /** Throws for invalid text that a pattern cannot express. */
  readonly check?: (text: string) => unknown;
  readonly allowed?: string;
  readonly doc: string;
}

/** A key whose value is text. @param options.shown masks secrets in the text where the configuration is printed. */
export function text(options: TextRules & { default: string; shown?: (text: string) => string }): Key<string> {
  const { shown = (value) => value } = options;
  return { ...anyText(options), defaultValue: () => options.default, print: (value) => quote(shown(value)) };
}

/** A key whose value is text and may be unset; then it is not printed. */
export function optionalText(options: TextRules): Key<string | undefined> {
  return { ...anyText(options), defaultValue: () => undefined };
}

/** A key whose value is a secret text and may be unset. It is masked wherever the configuration is printed. */
export function secretText(options: TextRules): Key<string | undefined> {
  return { ...optionalText(options), isSecret: true, print: () => '"***"' };
}

/** A key whose value is `host:port` to listen on; port 0 lets the system choose. */
export function address(options: Shared<string | ByRole<string>>): Key<string> {
  return {
    ...anyText({ ...options, allowed: 'an address such as "127.0.0.1:4000" or "[::]:4000"' }),
    defaultValue: (_, role) => forRole(options.default, role),
    parse: (raw) => checkedAddress(textOf(raw)),
  };
}

/** A key whose value is `host:port` of another process. */
export function peerAddress(options: Shared<string>): Key<string> {
  return { ...anyPeerAddress(options.doc), defaultValue: () => options.default };
}

/** A key whose value is `host:port` of another process and may be unset; then it is not printed. */
export function optionalPeerAddress(options: { readonly doc: string }): Key<string | undefined> {
  return { ...anyPeerAddress(options.doc), defaultValue: () => undefined };
}

/** Rules of the items of a list. */
interface ItemRules {
  readonly pattern?: RegExp;
  readonly allowed?: string;
  /** Masks secrets in an item where the configuration is printed. */
  readonly shown?: (item: string) => string;
}

/** A key whose value is a list of texts. */
export function textList(options: Shared<readonly string[]> & ItemRules): Key<readonly string[]> {
  const { pattern, shown = (item) => item } = options;
  const parse = (raw: RawValue): readonly string[] => {
    if (typeof raw === 'string') return splitList(raw);
    if (typeof raw === 'object') return raw;
    throw refusal('not a list of texts');
  };
  return {
    unit: '',
    defaultValue: () => options.default,
    doc: options.doc,
    allowed: options.allowed ?? 'a list of texts such as ["a", "b"], separated by commas in the environment',
    isText: false,
    parse: (raw) => {
      const items = parse(raw);
      if (items.some((item) => pattern?.test(item) === false)) throw refusal('malformed');
      return items;
    },
    print: (value) => `[${value.map((item) => quote(shown(item))).join(', ')}]`,
  };
}

/** Rounds down to whole MiB, so that a percentage of the memory prints as a short number. */
export function wholeMebibytes(bytes: number): number {
  return Math.floor(bytes / MEBIBYTE) * MEBIBYTE;
}

/** Quotes text as a TOML basic string. */
export function quote(value: string): string {
  // JSON's escapes are a subset of TOML's, except for DEL, which TOML does not allow unescaped.
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}

/** Masks the passwords of URLs in a text. */
export function maskUrlPassword(printed: string): string {
  return printed.replace(/(:\/\/[^\s:@/"]*:)[^\s@/"]+@/g, '$1***@');
}

function anyPeerAddress(doc: string): Omit<Key<string>, 'defaultValue'> {
  return {
    ...anyText({ doc, allowed: 'an address to call such as "10.0.0.5:4031", "metadata:4031" or "[fd00::5]:4031"' }),
    parse: (raw) => {
      const value = checkedAddress(textOf(raw));
      if (/:0+$/.test(value)) throw refusal('port 0 cannot be called');
      if (isEveryAddress(value)) throw refusal('an address for listening only');
      return value;
    },
  };
}

function checkedAddress(value: string): string {
  const match = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:[\]/]+):([0-9]{1,5})$/.exec(value);
  if (match === null || Number(match[1]) > 65_535) throw refusal('not host:port');
  return value;
}

function forRole<T extends string | number | boolean>(value: T | ByRole<T>, role: Role): T {
  return typeof value === 'object' ? value[role] : value;
}

function anyText(rules: TextRules): Omit<Key<string>, 'defaultValue'> {
  return {
    unit: '',
    doc: rules.doc,
    allowed: rules.allowed ?? 'a text',
    isText: true,
    parse: (raw) => {
      const value = textOf(raw);
      if (rules.pattern?.test(value) === false) throw refusal('malformed');
      try {
        rules.check?.(value);
      } catch (error) {
        throw refusal(error instanceof Error ? error.message : String(error));
      }
      return value;
    },
    print: quote,
  };
}

/** `a,b\,c` is the list of `a` and `b,c`; an empty text is the empty list. */
function splitList(value: string): readonly string[] {
  if (value === '') return [];
  return value
    .split(/(?<!\\),/)
    .map((item) => item.replaceAll('\\,', ',').trim())
    .filter((item) => item !== '');
}

function textOf(raw: RawValue): string {
  if (typeof raw !== 'string') throw refusal('not a text in quotes');
  return raw;
}

function inRange(value: number, min: number, max = Infinity): number {
  if (value < min) throw refusal('too small');
  if (value > max) throw refusal('too large');
  return value;
}

function rangeText(min: string | undefined, max: string | undefined): string {
  if (min !== undefined && max !== undefined) return `, from ${min} to ${max}`;
  if (min !== undefined) return `, at least ${min}`;
  return max === undefined ? '' : `, at most ${max}`;
}

function refusal(why: string): AlmanacError {
  return new AlmanacError('invalid_arguments', why);
}
