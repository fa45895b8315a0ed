import type { Config } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { AnyQuerier } from '#shared/contracts/local-querier';
import { readingRights } from '#shared/contracts/rights';
import type { ResultFormat } from '#shared/formats/format';
import { resultFormatNamed } from '#shared/formats/registry';

import { databaseOfQuery } from '../protocols/common/database.js';
import { mediaTypeOf } from '../media-type.js';
import { errorReply, type HttpReply } from '../reply.js';
import type { Handler, RequestContext } from '../request-context.js';
import { URL_ENCODED } from './prom-form.js';
import { queryRoute, type QueryDeps } from './query-route.js';
import { resultReply } from './result-body.js';

/** Dependencies of the route of SQL. */
interface SqlDeps extends Omit<QueryDeps, 'querier'> {
  readonly querier: Pick<AnyQuerier, 'sql' | 'sqlNow'>;
}

/** `GET|POST /v1/sql`: runs statements and streams their rows. */
export function sqlHandler(deps: SqlDeps): Handler {
  const { config, querier, metrics, slowQueries } = deps;
  return queryRoute(
    {
      timeoutMs: sqlTimeoutMs,
      hasBody: () => true,
      parameters: sqlParameters,
      async run(parameters, call, context) {
        const { sql, database, format, limit, timezone = config.defaultTimezone } = parameters;
        const allowed = parameters.isReadOnly ? { ...call, rights: readingRights(call.rights) } : call;
        context.asked = { text: sql, isPromql: false, range: undefined, database };
        const request = { sql, database, timezone, format: format.names[0], limit, user: '' };
        const results = querier.sqlNow?.(request, allowed) ?? querier.sql(request, allowed);
        if (!('kind' in results)) await slowQueries.prepare(context.asked, call);
        return resultReply(results, format, { database, context, bytesMax: config.http.maxResultBytes });
      },
      isTimed: true,
      failure: sqlFailure,
      onDone: (context) => metrics.sql(context),
    },
    deps,
  );
}

/** Makes the error reply of queries for rows: a timeout is 408 there, and overload 429. */
export function sqlFailure(context: RequestContext, error: AlmanacError): HttpReply {
  const status = { deadline_exceeded: 408, region_busy: 429 }[error.code as string] ?? error.httpStatus;
  const known = PLACE_MEMBERS.filter((name) => error.details[name] !== undefined);
  return errorReply(
    context,
    error,
    status,
    Object.fromEntries(known.map((name) => [name, Number(error.details[name])])),
  );
}

/** Members of error bodies that say where a text is wrong, as far as the querier knows it. */
const PLACE_MEMBERS = ['statement_index', 'line', 'column', 'length'];

/** Returns the timeout that the client requests, within the limit, else the shorter one of requests and of queries. */
export function sqlTimeoutMs(context: RequestContext, { http, query }: Config): number {
  const requested = context.requestedTimeoutMs();
  if (requested !== undefined) return requested === 0 ? query.maxTimeoutMs : Math.min(requested, query.maxTimeoutMs);
  return http.timeoutMs === 0 ? query.timeoutMs : Math.min(http.timeoutMs, query.timeoutMs);
}

/** Parameters of a request with SQL. */
interface SqlParameters {
  readonly sql: string;
  readonly database: string;
  readonly format: ResultFormat;
  readonly limit: number | undefined;
  readonly isReadOnly: boolean;
  readonly timezone: string | undefined;
}

const SQL_TEXTS = new Set(['text/plain', 'application/sql']);
const NAMES = new Set(['sql', 'db', 'format', 'limit', 'timezone', 'epoch', 'compression', 'read_only']);

type Values = ReadonlyMap<string, string>;

const NO_VALUES: Values = new Map();

/** Reads the parameters; the URL takes precedence over the body. */
export function sqlParameters(context: RequestContext, body: Buffer | undefined): SqlParameters {
  const inUrl = valuesInUrl(context);
  const inBody = body === undefined ? NO_VALUES : bodyValues(context.request.headers['content-type'], body);
  const value = (name: string): string | undefined => inUrl.get(name) ?? inBody.get(name);
  const sql = value('sql');
  if (sql === undefined) throw invalid('sql parameter is required.');
  return {
    sql,
    format: resultFormatNamed(value('format') ?? '', { epoch: value('epoch'), compression: value('compression') }),
    limit: limitOf(value('limit')),
    isReadOnly: booleanOf('read_only', value('read_only')),
    timezone: context.productHeader('timezone') ?? value('timezone'),
    database: databaseOfQuery(context, value('db')),
  };
}

function bodyValues(contentType: string | undefined, body: Buffer): Values {
  const type = mediaTypeOf(contentType);
  if (type === URL_ENCODED) return formValues(body);
  const text = body.toString();
  if (type === '') return /^\s*$/.test(text) ? NO_VALUES : untypedValues(text);
  if (SQL_TEXTS.has(type)) return new Map([['sql', text]]);
  if (type === 'application/json') return jsonValues(text);
  const supported = [URL_ENCODED, ...SQL_TEXTS, 'application/json'].join(', ');
  throw new AlmanacError('unsupported', `content type "${type}" is not supported: use ${supported}`, { http: 415 });
}

/** Parameters by query string: most requests have one of a few. */
const knownSearches = new Map<string, Values>();
const SEARCHES_MAX = 100;
const SEARCH_CHARS_MAX = 200;

function valuesInUrl(context: RequestContext): Values {
  const { search } = context;
  if (search.length > SEARCH_CHARS_MAX) return uniqueValues(context.query);
  let values = knownSearches.get(search);
  if (values === undefined) {
    values = uniqueValues(context.query);
    if (knownSearches.size >= SEARCHES_MAX) knownSearches.clear();
    knownSearches.set(search, values);
  }
  return values;
}

/** Reads a form. Most have `sql` alone, which is decoded in a fifth of the time; if it is short and ASCII, in a twentieth. */
function formValues(body: Buffer): Values {
  const sql = asciiSql(body);
  return sql === undefined ? valuesOfForm(body.toString()) : new Map([['sql', sql]]);
}

function valuesOfForm(text: string): Values {
  const sql = text.startsWith('sql=') && !text.includes('&') ? decoded(text.slice(4)) : undefined;
  return sql === undefined ? uniqueValues(new URLSearchParams(text)) : new Map([['sql', sql]]);
}

/** Returns a decoded value of a form; undefined if it has bytes that are not UTF-8, or an incomplete escape. */
function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

const SQL_NAME = Buffer.from('sql=');
const [AMPERSAND, PERCENT, PLUS, SPACE] = Buffer.from('&%+ ');
const decodedSql = Buffer.allocUnsafeSlow(4096);
/** Values of hexadecimal digits by byte; -1 for others. */
const DIGITS = Int8Array.from({ length: 256 }, (_, byte) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase()),
);

/** Returns the decoded value of a form's only parameter; undefined if there are others, or it is long or not ASCII. */
function asciiSql(form: Buffer): string | undefined {
  const start = SQL_NAME.length;
  if (form.length > decodedSql.length || !SQL_NAME.every((byte, i) => form[i] === byte)) return undefined;
  let length = 0;
  for (let at = start; at < form.length; at++) {
    let byte = form[at];
    if (byte === AMPERSAND) return undefined;
    if (byte === PLUS) byte = SPACE;
    else if (byte === PERCENT) {
      if (at + 2 >= form.length) return undefined;
      byte = (DIGITS[form[at + 1]] << 4) | DIGITS[form[at + 2]];
      at += 2;
    }
    // Also if a digit is invalid.
    if (byte < 0 || byte > 127) return undefined;
    decodedSql[length++] = byte;
  }
  return decodedSql.toString('latin1', 0, length);
}

/** Reads a body without a type: a form if it looks like one, else SQL. */
function untypedValues(text: string): Values {
  return /(^|&)sql=/.test(text) ? valuesOfForm(text) : new Map([['sql', text]]);
}

function jsonValues(text: string): Values {
  const parsed = parseBody(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw invalid('body must be a JSON object with the member "sql"');
  }
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(parsed as Readonly<Record<string, unknown>>)) {
    if (!NAMES.has(name) || value === null) continue;
    const isText = typeof value === 'string' || typeof value === 'number';
    if (!isText && !(typeof value === 'boolean' && name === 'read_only')) {
      throw invalid(`member "${name}" must be a text`);
    }
    values.set(name, String(value));
  }
  return values;
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AlmanacError('invalid_arguments', 'body is not valid JSON', { cause: error });
  }
}

function uniqueValues(parameters: URLSearchParams): Values {
  const values = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (!NAMES.has(name)) continue;
    if (values.has(name)) throw invalid(`parameter "${name}" is given twice`);
    values.set(name, value);
  }
  return values;
}

function limitOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const limit = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(limit)) {
    throw invalid(`limit must be a whole number that is not negative, not "${text}"`);
  }
  return limit;
}

function booleanOf(name: string, text = 'false'): boolean {
  if (text !== 'true' && text !== 'false') throw invalid(`${name} must be true or false, not "${text}"`);
  return text === 'true';
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
