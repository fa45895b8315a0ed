import { CommandFailure, EXIT } from '../command.js';
import { requestProblem, httpRequest, type HttpResponse } from '../http-request.js';
import type { ServerTarget, ServerTrust } from '../server-target.js';

/** Options of a `Connection`. */
export interface ConnectionOptions {
  readonly server: ServerTarget;
  readonly database: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** Timeout of a statement, such as `4m`; default: the server's. */
  readonly timeout?: string;
  /** Advice if no server can be reached: a sentence that follows the reason. */
  readonly ifUnreachable?: string;
}

const NO_USER = 'this server has users: set --user, and ALMANAC_PASSWORD to its password or a token';

/** The SQL endpoint of a server. */
export class SqlConnection {
  /** Database of the next statement; `USE` changes it. */
  database: string;
  /** URL of the server: `http://127.0.0.1:4000`. */
  readonly host: string;
  readonly #trust: ServerTrust;
  readonly #ifUnreachable: string;
  readonly #hasUser: boolean;
  readonly #headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };

  /** @throws `CommandFailure` with the usage exit code if there is a user without a password. */
  constructor({ server, database, user, password, timeout, ifUnreachable }: ConnectionOptions) {
    this.host = server.url;
    this.#trust = server.trust;
    this.database = database;
    this.#ifUnreachable = ifUnreachable === undefined ? '' : `; ${ifUnreachable}`;
    if (timeout !== undefined) this.#headers['x-almanac-timeout'] = timeout;
    this.#hasUser = user !== undefined;
    if (user === undefined) return;
    if (password === undefined || password === '') {
      throw new CommandFailure(EXIT.usage, `error: ${passwordAdvice(user)}`);
    }
    this.#headers['authorization'] = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }

  /**
   * Runs one statement.
   *
   * @returns the reply's text, in the server's default format.
   * @throws `CommandFailure` if the server cannot be reached or refuses.
   */
  async run(sql: string, signal: AbortSignal): Promise<string> {
    const { status, text } = await this.#post(new URLSearchParams({ sql, db: this.database }), signal);
    if (status === 200) return text;
    const code = status === 401 || status === 403 ? EXIT.refused : EXIT.failed;
    const advice = status === 401 && !this.#hasUser ? `; ${NO_USER}` : '';
    throw new CommandFailure(code, `error: ${errorText(text) ?? `HTTP status ${status}`}${advice}`);
  }

  async #post(form: URLSearchParams, signal: AbortSignal): Promise<HttpResponse> {
    const request = {
      method: 'POST',
      headers: this.#headers,
      body: form.toString(),
      trust: this.#trust,
      signal,
    } as const;
    try {
      return await httpRequest(new URL('/v1/sql', this.host), request);
    } catch (error) {
      if (signal.aborted) throw new CommandFailure(EXIT.failed, 'cancelled', { cause: error });
      const text = `error: cannot reach ${this.host}: ${requestProblem(error, this.host)}${this.#ifUnreachable}`;
      throw new CommandFailure(EXIT.failed, text, { cause: error });
    }
  }
}

function passwordAdvice(user: string): string {
  return `the user "${user}" needs a password: set ALMANAC_PASSWORD to it, or to a token of the user`;
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
