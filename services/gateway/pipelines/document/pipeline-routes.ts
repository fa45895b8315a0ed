import { buildError } from '../build-error.js';
import { isArray, isObject, type ObjectValue, type PipelineValue } from '../values/value.js';

const ROUTES_MAX = 100;
const TEXT_MAX = 255;
const HEADER = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;
const KEYS = ['table', 'db', 'header', 'value'];

/** What a request has that names no pipeline. */
export interface RoutedRequest {
  readonly database: string;
  readonly table: string;
  header(name: string): string | undefined;
}

/** A condition under which requests go through a pipeline that they do not name (spec: pipelines 20.2). */
export interface PipelineRoute {
  matches(request: RoutedRequest): boolean;
}

/** Compiles the key `routes` of a pipeline. @throws `invalid_arguments`. */
export function compileRoutes(given: PipelineValue): PipelineRoute[] {
  if (given === null) return [];
  if (!isArray(given)) throw buildError('routes must be a list');
  if (given.length > ROUTES_MAX) throw buildError(`pipeline has more than ${ROUTES_MAX} routes`);
  return given.map((entry, i) => {
    if (!isObject(entry)) throw buildError(`routes[${i}] must be a map`);
    return compileRoute(entry, `routes[${i}]`);
  });
}

function compileRoute(entry: ObjectValue, at: string): PipelineRoute {
  const unknown = [...entry.keys()].find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw buildError(`${at}: unknown key "${unknown}": use ${KEYS.join(', ')}`);
  const text = (name: string): string | undefined => {
    const value = entry.get(name) ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '' && value.length <= TEXT_MAX) return value;
    throw buildError(`${at}: ${name} must be a text of 1 to ${TEXT_MAX} characters`);
  };
  const [table, database, header, value] = [text('table'), text('db'), text('header')?.toLowerCase(), text('value')];
  if (table === undefined && header === undefined) throw buildError(`${at} needs table or header`);
  if (header !== undefined && !HEADER.test(header)) throw buildError(`${at}: invalid name of a header`);
  if (value !== undefined && header === undefined) throw buildError(`${at}: value needs header`);
  const parts = table?.split('*');
  return {
    matches: (request) =>
      (database === undefined || database === request.database) &&
      (parts === undefined || (request.table !== '' && fitsParts(request.table, parts))) &&
      (header === undefined || fitsHeader(request.header(header), value)),
  };
}

/** Whether a name consists of the parts with anything between them. */
function fitsParts(name: string, parts: readonly string[]): boolean {
  const [first, ...others] = parts;
  if (others.length === 0) return name === first;
  if (!name.startsWith(first)) return false;
  const last = others.pop() ?? '';
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

function fitsHeader(given: string | undefined, value: string | undefined): boolean {
  return given !== undefined && (value === undefined || given === value);
}
