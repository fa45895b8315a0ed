import { BASE_PATH } from './origin.js';
import { credentials, isSignedOut, requestSignIn } from './session.js';
import { isOfProxy, noteReply, noteUnreachable } from './reachability.js';

/** What a request needs beyond its path. */
export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly parameters?: Readonly<Record<string, string | number | undefined>> | URLSearchParams;
  /** Sent as a form. */
  readonly form?: Readonly<Record<string, string | undefined>> | URLSearchParams;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** A request that the server refused, or that did not reach it. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /** HTTP status; 0 if the server cannot be reached. */
  readonly status: number;
  /** Number of the error, as in docs/errors.md; undefined if the reply has none. */
  readonly code: number | undefined;
  readonly queryId: string | undefined;
  /** Seconds after which a repetition may succeed. */
  readonly retryAfterSeconds: number | undefined;
  /** Where the query is wrong, from 1; undefined if unknown. */
  readonly position: TextPosition | undefined;

  constructor(message: string, facts: Partial<Omit<RequestError, 'message' | 'name'>> = {}) {
    super(message);
    this.status = facts.status ?? 0;
    this.code = facts.code;
    this.queryId = facts.queryId;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.position = facts.position;
  }
}

/** A place in a query: line and column from 1, in UTF-16 units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** Requests that run at once: browsers open six connections to a server, and one must stay free for cancelling. */
const RUNNING_MAX = 5;
let runningCount = 0;
const waiting: (() => void)[] = [];

/**
 * Sends a request with the credentials of the session; after a 401 once more, when the user has signed in.
 *
 * @param path below the server's root, such as `v1/sql`.
 * @throws RequestError for a reply that is no success; the `AbortError` of an aborted signal.
 */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const slot = await freeSlot(options.signal);
  try {
    for (;;) {
      const used = credentials.value;
      const response = await send(path, options);
      if (response.ok) return response;
      const error = await errorOf(response);
      if (error.status !== 401) throw error;
      // Who closed the dialog opens it again: screens that load at intervals must not.
      if (isSignedOut.value) throw error;
      // Credentials may have been entered for another request meanwhile.
      if (credentials.value === used) await requestSignIn(error.message, options.signal);
      if (isSignedOut.value) throw error;
    }
  } finally {
    slot();
  }
}

/** Sends a request, and parses the JSON of the reply. */
export async function requestJson<T>(path: string, options?: RequestOptions): Promise<T> {
  return replyJson<T>(await request(path, options));
}

/** Parses the JSON of a reply. @throws RequestError if the connection is lost before its end. */
export async function replyJson<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch (error) {
    throw error instanceof TypeError ? connectionLost() : error;
  }
}

/** Returns the body of a reply as it arrives. @throws RequestError if the connection is lost before its end. */
export async function* bodyParts({ body }: Response): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw isAbort(error) ? error : connectionLost();
  } finally {
    // Ends the request if not all of it is read.
    void reader.cancel().catch(() => undefined);
  }
}

/** Returns the body of a reply as text, as it arrives. @throws RequestError if the connection is lost before its end. */
export async function* bodyTexts(response: Response): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const bytes of bodyParts(response)) yield decoder.decode(bytes, { stream: true });
}

function connectionLost(): RequestError {
  noteUnreachable();
  return new RequestError('The connection to the server was lost.');
}

/** Returns whether an error only says that its request was aborted. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** Returns the text of any error, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function freeSlot(signal: AbortSignal | undefined): Promise<() => void> {
  signal?.throwIfAborted();
  if (runningCount >= RUNNING_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
  runningCount++;
  let isHeld = true;
  const release = (): void => {
    if (!isHeld) return;
    isHeld = false;
    runningCount--;
    waiting.shift()?.();
  };
  if (signal?.aborted === true) {
    release();
    signal.throwIfAborted();
  }
  return release;
}

async function send(
  path: string,
  { method, parameters, form, body, headers, signal }: RequestOptions,
): Promise<Response> {
  const query = parameters === undefined ? '' : `?${encoded(parameters)}`;
  const payload = form === undefined ? body : encoded(form);
  const init: RequestInit = {
    method: method ?? (payload === undefined ? 'GET' : 'POST'),
    headers: {
      // The browser must not show its own dialog for credentials.
      'x-requested-with': 'XMLHttpRequest',
      ...(credentials.value === undefined ? {} : { 'x-almanac-auth': `Basic ${credentials.value}` }),
      ...headers,
    },
    ...(payload === undefined ? {} : { body: payload }),
    ...(signal === undefined ? {} : { signal }),
    cache: 'no-store',
  };
  let response: Response;
  try {
    response = await fetch(BASE_PATH + path + query, init);
  } catch (error) {
    if (isAbort(error) || signal?.aborted === true) throw error;
    noteUnreachable();
    throw new RequestError('The server cannot be reached.');
  }
  noteReply(response);
  if (isOfProxy(response)) {
    throw new RequestError(`The server cannot be reached: a proxy replied with status ${response.status}.`);
  }
  return response;
}

function encoded(values: NonNullable<RequestOptions['parameters']>): URLSearchParams {
  if (values instanceof URLSearchParams) return values;
  const pairs = Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]));
  return new URLSearchParams(pairs);
}

/** The members of error bodies that some protocol of the server has. */
interface ErrorBody {
  readonly error?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly line?: unknown;
  readonly column?: unknown;
  readonly length?: unknown;
}

async function errorOf(response: Response): Promise<RequestError> {
  const text = await response.text().catch(() => '');
  let body: ErrorBody = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) body = parsed;
  } catch {
    // Some replies are plain text, or come from a proxy.
  }
  const message = [body.error, body.message].find((member) => typeof member === 'string' && member !== '');
  const retryAfter = Number(response.headers.get('retry-after') ?? NaN);
  return new RequestError(
    typeof message === 'string'
      ? message
      : text.trim().slice(0, 1000) || `The server replied with status ${response.status}.`,
    {
      status: response.status,
      code: typeof body.code === 'number' ? body.code : undefined,
      queryId: response.headers.get('x-almanac-query-id') ?? undefined,
      retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
      position: positionOf(body),
    },
  );
}

function positionOf({ line, column, length }: ErrorBody): TextPosition | undefined {
  if (typeof line !== 'number' || typeof column !== 'number') return undefined;
  return { line, column, length: typeof length === 'number' ? length : 1 };
}
