/** The path and query of a request, as every later step sees them. */
export interface RequestTarget {
  /** Starts with a slash; percent-encoded as the client wrote it. */
  readonly path: string;
  /** The part after the first `?`. */
  readonly search: string;
}

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;
/** All that a path may contain; Express reads `/v1\\sql?#` as `/v1/sql`, which the guard would not take for a path of data. */
const PATH = /^[!-"$-[\]-~]*$/;
/** Layers of percent-encoding that a later reader might decode. */
const DECODE_ROUNDS = 3;
/** A path of these characters has only one meaning. */
const PLAIN_PATH = /^[A-Za-z0-9/_-]*$/;

/**
 * Reads a request target in origin form (`/path?query`) or absolute form (`http://host/path?query`).
 *
 * @returns undefined for any other form, and for a path with a backslash, a `#` or characters other than printable ASCII.
 */
export function parseTarget(url: string): RequestTarget | undefined {
  const origin = url.startsWith('/') ? url : fromAbsolute(url);
  if (origin === undefined) return undefined;
  const query = origin.indexOf('?');
  const path = query === -1 ? origin : origin.slice(0, query);
  if (!PATH.test(path)) return undefined;
  return { path, search: query === -1 ? '' : origin.slice(query + 1) };
}

/**
 * Whether a later reader could take the path for another one: it has backslashes, control characters, broken
 * percent-encoding, or segments that decode to dots.
 */
export function isAmbiguousPath(path: string): boolean {
  if (PLAIN_PATH.test(path)) return false;
  let decoded = path;
  for (let round = 0; round < DECODE_ROUNDS; round++) {
    if (/[\\\u0000-\u001f\u007f]/.test(decoded)) return true;
    if (decoded.split(/[/;]/).some((segment) => segment === '.' || segment === '..')) return true;
    const next = decodedOnce(decoded);
    if (next === undefined) return true;
    if (next === decoded) return false;
    decoded = next;
  }
  return true;
}

/** Whether the public listener serves the path: `/v1`, `/dashboard` and all paths below these. */
export function isPublicPath(path: string): boolean {
  const isBelow = (folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
  return (isBelow('/v1') || isBelow('/dashboard')) && !isAmbiguousPath(path);
}

function fromAbsolute(url: string): string | undefined {
  const start = ABSOLUTE.exec(url);
  if (start === null) return undefined;
  const rest = url.slice(start[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function decodedOnce(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    // Not UTF-8, or not two hexadecimal digits: no route has such a path.
    return undefined;
  }
}
