import { ERROR_CODES, type ErrorCode } from './codes.js';
import { InvariantError } from './invariant.js';

/** Optional parts of an `AlmanacError`. */
export interface ErrorExtras {
  /** The underlying error; logged, never sent to a client. */
  readonly cause?: unknown;
  /** Seconds after which a client may try again; only where `retry` is true. */
  readonly retryAfterSeconds?: number;
  /** Facts for machines (names, limits) that cross gRPC with the error. */
  readonly details?: Readonly<Record<string, string>>;
  /** Overrides the HTTP status of the code, for routes whose protocol prescribes another. */
  readonly http?: number;
}

/** The one class of expected failures. Any other thrown value is a bug and is reported as `internal`. */
export class AlmanacError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, string>>;
  readonly retryAfterSeconds: number | undefined;
  readonly #http: number | undefined;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'AlmanacError';
    this.code = code;
    this.details = extras.details ?? {};
    this.retryAfterSeconds = extras.retryAfterSeconds;
    this.#http = extras.http;
  }

  /** The number that clients see. */
  get number(): number {
    return ERROR_CODES[this.code].number;
  }

  get httpStatus(): number {
    return this.#http ?? ERROR_CODES[this.code].http;
  }

  get retry(): boolean {
    return ERROR_CODES[this.code].retry;
  }

  /** The text for clients: codes `unknown` and `internal` are masked, and details appear in the log only. */
  get publicMessage(): string {
    return this.code === 'unknown' || this.code === 'internal' ? `Internal error: ${this.number}` : this.message;
  }

  /** Returns the same error with further details, and itself as its cause. */
  withDetails(details: Readonly<Record<string, string>>): AlmanacError {
    const { code, message, retryAfterSeconds, httpStatus: http } = this;
    return new AlmanacError(code, message, {
      cause: this,
      details: { ...this.details, ...details },
      http,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  }

  /** Converts any thrown value: an `AlmanacError` is returned unchanged, everything else becomes `internal`. */
  static from(thrown: unknown): AlmanacError {
    if (thrown instanceof AlmanacError) return thrown;
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    const kind = thrown instanceof InvariantError ? 'broken invariant: ' : '';
    return new AlmanacError('internal', `${kind}${text}`, { cause: thrown });
  }
}
