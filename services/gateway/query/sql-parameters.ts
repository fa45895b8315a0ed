import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../request-context.js';

/** What a request to `/v1/sql` asks for. */
export interface SqlParameters {
  readonly sql: string;
  readonly database: string | undefined;
  readonly format: string;
  readonly limit: number | undefined;
  readonly timezone: string | undefined;
}

/** Names of the one result format so far, in lower case. */
const JSON_FORMATS = ['greptimedb_v1', 'almanac_v1', 'json_v1'];
const FORM = 'application/x-www-form-urlencoded';
const SQL_TEXTS = new Set(['text/plain', 'application/sql']);
const KNOWN = new Set(['sql', 'db', 'format', 'limit', 'timezone', 'epoch', 'compression']);

type Values = ReadonlyMap<string, string>;

const NO_VALUES: Values = new Map();

/** Parameters from the URL and, for a POST, from the body; the URL wins. @throws `invalid_arguments`, `unsupported`. */
export function sqlParameters(context: RequestContext, body: Buffer | undefined): SqlParameters {
  const inUrl = uniqueValues(context.query);
  const inBody = body === undefined ? NO_VALUES : bodyValues(context.request.headers['content-type'], body);
  const value = (name: string): string | undefined => inUrl.get(name) ?? inBody.get(name);
  const sql = value('sql');
  if (sql === undefined) throw invalid('sql parameter is required.');
  return {
    sql,
    database: value('db'),
    format: formatOf(value('format')),
    limit: limitOf(value('limit')),
    timezone: context.productHeader('timezone') ?? value('timezone'),
  };
}

function bodyValues(contentType: string | undefined, body: Buffer): Values {
  const type = (contentType ?? '').split(';')[0].trim().toLowerCase();
  const text = body.toString();
  if (type === FORM) return uniqueValues(new URLSearchParams(text));
  if (type === '') return /^\s*$/.test(text) ? NO_VALUES : untyped(text);
  if (SQL_TEXTS.has(type)) return new Map([['sql', text]]);
  if (type === 'application/json') return jsonValues(text);
  const known = [FORM, ...SQL_TEXTS, 'application/json'].join(', ');
  throw new AlmanacError('unsupported', `content type "${type}" is not supported: use ${known}`, { http: 415 });
}

/** A body without a type is a form if it looks like one. */
function untyped(text: string): Values {
  return /(^|&)sql=/.test(text) ? uniqueValues(new URLSearchParams(text)) : new Map([['sql', text]]);
}

function jsonValues(text: string): Values {
  const parsed = parseJson(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw invalid('body must be a JSON object with the member "sql"');
  }
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(parsed as Readonly<Record<string, unknown>>)) {
    if (!KNOWN.has(name) || value === null) continue;
    if (typeof value !== 'string' && typeof value !== 'number') throw invalid(`member "${name}" must be a text`);
    values.set(name, String(value));
  }
  return values;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AlmanacError('invalid_arguments', 'body is not valid JSON', { cause: error });
  }
}

function uniqueValues(parameters: URLSearchParams): Values {
  const values = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (!KNOWN.has(name)) continue;
    if (values.has(name)) throw invalid(`parameter "${name}" is given twice`);
    values.set(name, value);
  }
  return values;
}

/** The format of this name; the default without one. @throws `invalid_arguments`. */
export function formatOf(name: string | undefined): string {
  if (name === undefined || name === '') return JSON_FORMATS[0];
  const known = JSON_FORMATS.find((format) => format === name.toLowerCase());
  if (known === undefined) throw invalid(`unknown format "${name}": use one of ${JSON_FORMATS.join(', ')}`);
  return known;
}

function limitOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const limit = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(limit)) {
    throw invalid(`limit must be a whole number that is not negative, not "${text}"`);
  }
  return limit;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
