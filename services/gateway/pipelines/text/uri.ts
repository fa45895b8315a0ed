import type { PipelineValue } from '../values/value.js';

const LENGTH_MAX = 64 * 1024;
/** Base of references without scheme and host. */
const BASE = 'http://base.invalid';

/** The parts of a URI; undefined where it has none. */
export interface UriParts {
  readonly scheme: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly host: string | undefined;
  readonly port: bigint | undefined;
  readonly path: string;
  /** Without its `?`. */
  readonly query: string | undefined;
  readonly fragment: string | undefined;
}

/** Splits a URI, or a path with a query; undefined if it is neither, or longer than 65,536 characters. */
export function splitUri(text: string): UriParts | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  const isRelative = text.startsWith('/') && !text.startsWith('//');
  let url: URL;
  try {
    url = isRelative ? new URL(BASE + text) : new URL(text);
  } catch {
    return undefined;
  }
  return {
    scheme: isRelative ? undefined : url.protocol.slice(0, -1),
    username: known(decoded(url.username)),
    password: known(decoded(url.password)),
    host: isRelative ? undefined : known(url.hostname),
    port: url.port === '' ? undefined : BigInt(url.port),
    path: url.pathname,
    query: known(url.search.slice(1)),
    fragment: known(url.hash.slice(1)),
  };
}

function known(text: string): string | undefined {
  return text === '' ? undefined : text;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Calls `visit` for each parameter of a query; the values of one that is repeated are an array. */
export function eachQueryParameter(query: string, visit: (name: string, value: PipelineValue) => void): void {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(query)) {
    const others = values.get(name);
    if (others === undefined) values.set(name, [value]);
    else others.push(value);
  }
  for (const [name, all] of values) visit(name, all.length === 1 ? all[0] : all);
}
