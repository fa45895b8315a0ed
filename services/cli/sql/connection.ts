import { CommandFailure, EXIT } from '../command.js';

/** Options of a `Connection`. */
export interface ConnectionOptions {
  /** `http://127.0.0.1:4000` */
  readonly host: string;
  readonly database: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** Timeout of a statement, such as `4m`; default: the server's. */
  readonly timeout?: string;
  /** Advice if no server can be reached: a sentence that follows the reason. */
  readonly ifUnreachable?: string;
}

/** The SQL endpoint of a server. */
export class SqlConnection {
  /** Database of the next statement; `USE` changes it. */
  database: string;
  readonly host: string;
  readonly #ifUnreachable: string;
  readonly #headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };

  constructor({ host, database, user, password, timeout, ifUnreachable }: ConnectionOptions) {
    this.host = host;
    this.database = database;
    this.#ifUnreachable = ifUnreachable === undefined ? '' : `; ${ifUnreachable}`;
    if (timeout !== undefined) this.#headers['x-almanac-timeout'] = timeout;
    if (user === undefined) return;
    this.#headers['authorization'] = `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}`;
  }

  /**
   * Runs one statement.
   *
   * @returns the reply's text, in the server's default format.
   * @throws `CommandFailure` if the server cannot be reached or refuses.
   */
  async run(sql: string, signal: AbortSignal): Promise<string> {
    const response = await this.#post(new URLSearchParams({ sql, db: this.database }), signal);
    const text = await response.text();
    if (response.ok) return text;
    const code = response.status === 401 || response.status === 403 ? EXIT.refused : EXIT.failed;
    throw new CommandFailure(code, `error: ${errorText(text) ?? `HTTP status ${response.status}`}`);
  }

  async #post(body: URLSearchParams, signal: AbortSignal): Promise<Response> {
    const headers = this.#headers;
    try {
      return await fetch(new URL('/v1/sql', this.host), { method: 'POST', headers, body, signal });
    } catch (error) {
      if (signal.aborted) throw new CommandFailure(EXIT.failed, 'cancelled', { cause: error });
      const text = `error: cannot reach ${this.host}: ${reason(error)}${this.#ifUnreachable}`;
      throw new CommandFailure(EXIT.failed, text, { cause: error });
    }
  }
}

/** `fetch` hides the reason one or two causes deep. */
function reason(error: unknown): string {
  const { cause, message } = error as Error;
  if (cause === undefined) return message;
  const { code } = cause as NodeJS.ErrnoException;
  return code ?? (cause as Error).message;
}

/** Returns the message of an error reply, with its code. */
function errorText(body: string): string | undefined {
  try {
    const { error, code } = JSON.parse(body) as { readonly error?: string; readonly code?: number };
    return error === undefined ? undefined : `${error}${code === undefined ? '' : ` (${code})`}`;
  } catch {
    return body.trim() === '' ? undefined : body.trim();
  }
}
