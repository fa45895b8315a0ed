import type { Config } from '#shared/config/schema';

const VARY = 'origin, access-control-request-method, access-control-request-headers';
const EXPOSED = ['format', 'execution-time', 'metrics', 'err-code', 'err-msg', 'err-retry-hint']
  .flatMap((name) => [`x-almanac-${name}`, `x-greptime-${name}`])
  .concat('x-almanac-query-id')
  .join(', ');
const ALLOWED = [
  ...['authorization', 'content-type', 'content-encoding'],
  ...['db-name', 'auth', 'timezone', 'timeout', 'hints', 'read-preference'].flatMap((name) => [
    `x-almanac-${name}`,
    `x-greptime-${name}`,
  ]),
  'x-almanac-query-id',
  '*',
].join(', ');
const PREFLIGHT = {
  'access-control-allow-methods': 'GET,POST,PUT,DELETE,HEAD',
  'access-control-allow-headers': ALLOWED,
  'access-control-max-age': '7200',
};
const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Headers that allow browsers to call from other origins. */
export class Cors {
  readonly #isEnabled: boolean;
  readonly #origins: ReadonlySet<string>;
  readonly #forAny: Readonly<Record<string, string>>;
  readonly #forOthers: Readonly<Record<string, string>>;
  /** Headers for programs, which send no origin and ignore the list of exposed headers. */
  readonly #forNone: Readonly<Record<string, string>>;

  constructor({ enableCors, corsAllowedOrigins }: Config['http']) {
    this.#isEnabled = enableCors;
    this.#origins = new Set(corsAllowedOrigins);
    this.#forOthers = { vary: VARY, 'access-control-expose-headers': EXPOSED };
    this.#forAny = { ...this.#forOthers, 'access-control-allow-origin': '*' };
    this.#forNone =
      corsAllowedOrigins.length === 0 ? { vary: VARY, 'access-control-allow-origin': '*' } : { vary: VARY };
  }

  /** Returns the headers of every response for `path`; pages of other origins get none for administration. */
  headers(path: string, origin: string | undefined): Readonly<Record<string, string>> {
    if (!this.#isEnabled || !isOpen(path)) return NO_HEADERS;
    if (origin === undefined) return this.#forNone;
    if (this.#origins.size === 0) return this.#forAny;
    if (!this.#origins.has(origin)) return this.#forOthers;
    return { ...this.#forOthers, 'access-control-allow-origin': origin };
  }

  /** Returns further headers for a preflight request; undefined if it is not answered. */
  preflight(path: string): Readonly<Record<string, string>> | undefined {
    return this.#isEnabled && isOpen(path) ? PREFLIGHT : undefined;
  }
}

function isOpen(path: string): boolean {
  return path.startsWith('/v1/') || path === '/health';
}
