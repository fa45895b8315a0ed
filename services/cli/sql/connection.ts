import { CommandFailure, EXIT } from '../command.js';

export interface ConnectionOptions {
  /** `http://127.0.0.1:4000` */
  readonly host: string;
  readonly database: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** How long a statement may take, such as `4m`; what the server is set to if not given. */
  readonly timeout?: string;
  /** What to do if no server is there: a sentence that follows the reason. */
  readonly ifUnreachable?: string;
}

/** The SQL endpoint of a server. */
export class Connection {
  /** Where the next statement runs; `USE` changes it. */
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
   * @returns the answer's text, in the server's default format.
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

/** `fetch` hides what happened one or two causes deep. */
function reason(error: unknown): string {
  const { cause, message } = error as Error;
  if (cause === undefined) return message;
  const { code } = cause as NodeJS.ErrnoException;
  return code ?? (cause as Error).message;
}

/** The text of an error answer, with its code. */
function errorText(body: string): string | undefined {
  try {
    const { error, code } = JSON.parse(body) as { readonly error?: string; readonly code?: number };
    return error === undefined ? undefined : `${error}${code === undefined ? '' : ` (${code})`}`;
  } catch {
    return body.trim() === '' ? undefined : body.trim();
  }
}
