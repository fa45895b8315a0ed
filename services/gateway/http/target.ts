/** Where a request goes, as every later step sees it. */
export interface Target {
  /** Begins with one slash; percent-encoding as the client wrote it. */
  readonly path: string;
  /** Behind the first `?`, without it. */
  readonly search: string;
}

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;
/** More layers of percent-encoding than anybody peels off. */
const DECODE_ROUNDS = 3;
/** A path of these characters and without a dot segment means what it says. */
const PLAIN_PATH = /^[A-Za-z0-9/_-]*$/;

/**
 * Reads a request target in origin form (`/path?query`) or absolute form (`http://host/path?query`).
 *
 * @returns undefined for any other form.
 */
export function parseTarget(url: string): Target | undefined {
  const origin = url.startsWith('/') ? url : fromAbsolute(url);
  if (origin === undefined) return undefined;
  const query = origin.indexOf('?');
  if (query === -1) return { path: origin, search: '' };
  return { path: origin.slice(0, query), search: origin.slice(query + 1) };
}

/**
 * Whether some reader of the path could take it for another one: it has backslashes, control characters, broken
 * percent-encoding, or segments that are dots once they are decoded.
 */
export function isDevious(path: string): boolean {
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

/** Whether the public listener serves the path: `/v1`, `/dashboard` and what is below, by whole segments. */
export function isPublicPath(path: string): boolean {
  const isBelow = (folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
  return (isBelow('/v1') || isBelow('/dashboard')) && !isDevious(path);
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
    // Not UTF-8, or not two digits: nothing that is served has such a path.
    return undefined;
  }
}
