import { AlmanacError } from '#shared/errors/almanac-error';

import { compileDateFormat, readDate } from '../../date/date-format.js';
import { DateParts } from '../../date/date-parts.js';
import { formatDate } from '../../date/format-date.js';
import { isZoneName, LocalTimes } from '../../date/zone-offset.js';
import { firstRecord } from '../../processors/csv.js';
import { LOGFMT, parseKeyValues } from '../../text/key-values.js';
import type { Pattern } from '../../text/pattern.js';
import { eachQueryParameter, splitUri } from '../../text/uri.js';
import { parseTree } from '../../values/parse-tree.js';
import { Timestamp } from '../../values/timestamp.js';
import { canonicalJson, type ObjectValue, type PipelineValue } from '../../values/value.js';
import { ScriptFailure, type ScriptMachine } from '../machine.js';
import { Kinds } from '../types.js';
import { defineFunctions, type Parameter } from './script-function.js';

const text: Parameter = { name: 'value', kinds: Kinds.string };
const optionalText = (name: string): Parameter => ({ name, kinds: Kinds.string, isOptional: true });
const numericGroups: Parameter = { name: 'numeric_groups', kinds: Kinds.boolean, isOptional: true };
const JSON_KINDS = Kinds.any & ~Kinds.timestamp;

function parseJsonText(given: string): PipelineValue {
  try {
    return parseTree(given);
  } catch (error) {
    throw new ScriptFailure(`unable to parse json: ${AlmanacError.from(error).publicMessage}`);
  }
}

type Match = NonNullable<ReturnType<Pattern['find']>>;

function groupsOf(pattern: Pattern, match: Match, withNumbers: boolean): ObjectValue {
  const groups: ObjectValue = new Map();
  if (withNumbers) for (let i = 0; i <= pattern.groupCount; i++) groups.set(String(i), match.group(i) ?? null);
  for (const name of pattern.groupNames) groups.set(name, match.group(name) ?? null);
  return groups;
}

function parseTime(given: string, formatText: string, zone: string | undefined): Timestamp {
  const format = compileDateFormat(formatText);
  const parts = new DateParts();
  const bytes = Buffer.from(given);
  const fail = (): ScriptFailure => new ScriptFailure(`Invalid timestamp "${given}": it does not fit the format`);
  if (format === undefined || !readDate(format, parts, bytes, 0, bytes.length)) throw fail();
  const seconds = utcSeconds(parts, zone);
  if (Number.isNaN(seconds)) throw fail();
  return new Timestamp(seconds, Math.max(parts.nanos, 0));
}

function utcSeconds(parts: DateParts, zone = 'UTC'): number {
  if (!Number.isNaN(parts.unixSeconds)) return parts.unixSeconds;
  const local = parts.localSeconds();
  if (!Number.isNaN(parts.offset)) return local - parts.offset;
  if (zone === 'UTC' || Number.isNaN(local)) return local;
  return localTimes(zone).toUtc(local);
}

const ZONES = new Map<string, LocalTimes>();

function localTimes(zone: string): LocalTimes {
  if (!isZoneName(zone)) throw new ScriptFailure(`unable to parse timezone: ${zone}`);
  let times = ZONES.get(zone);
  if (times === undefined) ZONES.set(zone, (times = new LocalTimes(zone)));
  return times;
}

function parsedUrl(given: string): ObjectValue {
  const parts = given.startsWith('/') ? undefined : splitUri(given);
  if (parts === undefined) throw new ScriptFailure(`unable to parse url: ${given}`);
  return new Map<string, PipelineValue>([
    ['scheme', parts.scheme ?? null],
    ['username', parts.username ?? ''],
    ['password', parts.password ?? ''],
    ['host', parts.host ?? null],
    ['port', parts.port ?? null],
    ['path', parts.path],
    ['query', new Map([...new URLSearchParams(parts.query)])],
    ['fragment', parts.fragment ?? null],
  ]);
}

function parsedQuery(given: string): ObjectValue {
  const result: ObjectValue = new Map();
  eachQueryParameter(given.replace(/^\?/, ''), (name, value) => result.set(name, value));
  return result;
}

/** Functions that parse and print texts. */
export const PARSE_FUNCTIONS = defineFunctions([
  {
    name: 'parse_json',
    parameters: [text],
    returns: JSON_KINDS,
    canFail: true,
    run: ([given]) => parseJsonText(given as string),
  },
  {
    name: 'encode_json',
    parameters: [{ name: 'value', kinds: Kinds.any }],
    returns: Kinds.string,
    canFail: false,
    run: ([given]) => canonicalJson(given as PipelineValue),
  },
  {
    name: 'parse_regex',
    parameters: [text, { name: 'pattern', kinds: Kinds.regex }, numericGroups],
    returns: Kinds.object,
    canFail: true,
    run: ([given, pattern, numbers]) => {
      const match = (pattern as Pattern).find(given as string);
      if (match === undefined) throw new ScriptFailure('could not find any pattern matches');
      return groupsOf(pattern as Pattern, match, numbers === true);
    },
  },
  {
    name: 'parse_regex_all',
    parameters: [text, { name: 'pattern', kinds: Kinds.regex }, numericGroups],
    returns: Kinds.array,
    canFail: true,
    run: ([given, pattern, numbers], machine: ScriptMachine) => {
      const found: PipelineValue[] = [];
      (pattern as Pattern).each(given as string, (match) => {
        machine.step();
        found.push(groupsOf(pattern as Pattern, match, numbers === true));
      });
      return found;
    },
  },
  {
    name: 'parse_key_value',
    parameters: [
      text,
      optionalText('key_value_delimiter'),
      optionalText('field_delimiter'),
      { name: 'accept_standalone_key', kinds: Kinds.boolean, isOptional: true },
    ],
    returns: Kinds.object,
    canFail: true,
    run: ([given, valueSplit = '=', fieldSplit = ' ', lone]) => {
      if (valueSplit === '' || fieldSplit === '') throw new ScriptFailure('delimiters must not be empty');
      const form = {
        valueSplit: valueSplit as string,
        fieldSplit: fieldSplit as string,
        acceptsLoneKeys: lone !== false,
      };
      return parseKeyValues(given as string, form);
    },
  },
  {
    name: 'parse_logfmt',
    parameters: [text],
    returns: Kinds.object,
    canFail: true,
    run: ([given]) => parseKeyValues(given as string, LOGFMT),
  },
  {
    name: 'parse_csv',
    parameters: [text, optionalText('delimiter')],
    returns: Kinds.array,
    canFail: true,
    run: ([given, delimiter = ',']) => {
      if (Buffer.byteLength(delimiter as string) !== 1) throw new ScriptFailure('delimiter must be a single character');
      return firstRecord(given as string, delimiter as string, '"') ?? [];
    },
  },
  {
    name: 'parse_url',
    parameters: [text],
    returns: Kinds.object,
    canFail: true,
    run: ([given]) => parsedUrl(given as string),
  },
  {
    name: 'parse_query_string',
    parameters: [text],
    returns: Kinds.object,
    canFail: false,
    run: ([given]) => parsedQuery(given as string),
  },
  {
    name: 'parse_timestamp',
    parameters: [
      { name: 'value', kinds: Kinds.string | Kinds.timestamp },
      { name: 'format', kinds: Kinds.string },
      optionalText('timezone'),
    ],
    returns: Kinds.timestamp,
    canFail: true,
    run: ([given, format, zone]) => {
      return given instanceof Timestamp
        ? given
        : parseTime(given as string, format as string, zone as string | undefined);
    },
  },
  {
    name: 'format_timestamp',
    parameters: [
      { name: 'value', kinds: Kinds.timestamp },
      { name: 'format', kinds: Kinds.string },
      optionalText('timezone'),
    ],
    returns: Kinds.string,
    canFail: true,
    run: ([given, format, zone]) => {
      const time = given as Timestamp;
      const offset = zone === undefined || zone === 'UTC' ? 0 : localTimes(zone as string).offsetAt(time.seconds);
      const formatted = formatDate(time, format as string, offset);
      if (formatted === undefined) throw new ScriptFailure(`invalid format "${format as string}"`);
      return formatted;
    },
  },
]);
