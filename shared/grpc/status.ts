import { Metadata, status, type StatusObject } from '@grpc/grpc-js';

import { AlmanacError, type ErrorExtras } from '#shared/errors/almanac-error';
import { ERROR_CODES, type ErrorCode } from '#shared/errors/codes';

/** Trailer with the error as JSON; the ending makes gRPC carry any bytes. */
const ERROR_KEY = 'almanac-error-bin';
/** Bounds of what crosses: HTTP/2 gives all trailers together 64 KiB, and a character may take three bytes. */
const MESSAGE_LENGTH_MAX = 8192;
const DETAILS_LENGTH_MAX = 4096;
/** gRPC's own text of a status, which only foreign clients read. */
const SUMMARY_LENGTH_MAX = 256;

/** The transport failed: no answer of the service came, and whether it worked on the call is unknown. */
export class UnansweredError extends AlmanacError {
  constructor(message: string, extras: ErrorExtras = {}) {
    super('external', message, extras);
  }
}

/** Nobody listens at the address: the process that did has ended. */
export class RefusedError extends UnansweredError {}

/** An error of a standard service, which has a gRPC status of its own. */
export class StandardError extends AlmanacError {
  readonly grpc: number;

  constructor(grpc: number, message: string) {
    super('invalid_arguments', message);
    this.grpc = grpc;
  }
}

interface CrossingStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

interface CrossingError {
  readonly code: string;
  readonly number: number;
  readonly message: string;
  readonly details: Readonly<Record<string, string>>;
  readonly retryAfterSeconds?: number;
}

/** How an error leaves a service. Its cause stays here. */
export function toStatus(error: AlmanacError): CrossingStatus {
  const crossing: CrossingError = {
    code: error.code,
    number: error.number,
    message: cut(error.message, MESSAGE_LENGTH_MAX),
    details: boundedDetails(error.details),
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  };
  const metadata = new Metadata();
  metadata.set(ERROR_KEY, Buffer.from(JSON.stringify(crossing)));
  const code: number = error instanceof StandardError ? error.grpc : ERROR_CODES[error.code].grpc;
  return { code, details: cut(error.message, SUMMARY_LENGTH_MAX), metadata };
}

/** Whether a status holds an error that `toStatus` took, and not what the transport says. */
export function isOfPeer({ metadata }: StatusObject): boolean {
  return metadata.get(ERROR_KEY).length > 0;
}

/** The error that `toStatus` took, or what the transport itself has to say. `title` names who was called. */
export function fromStatus({ code, details, metadata }: StatusObject, title: string): AlmanacError {
  const [bytes] = metadata.get(ERROR_KEY);
  if (bytes instanceof Buffer) return fromCrossing(bytes);
  const text = `${title}: ${details}`;
  switch (code) {
    case status.DEADLINE_EXCEEDED:
      return lateError(title);
    case status.RESOURCE_EXHAUSTED:
      return new AlmanacError('resources_exhausted', text);
    case status.UNIMPLEMENTED:
      return new AlmanacError('unsupported', text);
    case status.UNAVAILABLE:
    case status.CANCELLED:
    case status.UNKNOWN:
    case status.INTERNAL:
      // Streams that a dying peer resets come under any of these.
      return unanswered(title, details);
    default:
      return new AlmanacError('unexpected', `${text} (gRPC status ${code})`);
  }
}

function unanswered(title: string, details: string): UnansweredError {
  const extras: ErrorExtras = { details: { peer: title }, cause: details };
  const text = `${title} ${howItFailed(details)}`;
  return details.includes('ECONNREFUSED') ? new RefusedError(text, extras) : new UnansweredError(text, extras);
}

/** The peer did not answer in time. */
export function lateError(title: string): AlmanacError {
  const text = `${title} did not answer before its deadline`;
  return new AlmanacError('deadline_exceeded', text, { details: { peer: title } });
}

const UNREACHED = /^No connection established|^Name resolution failed|^Failed to connect|^No addresses/i;
const BROKEN =
  /^Connection (dropped|closed)|^Call ended without|RST_STREAM|^Stream (removed|refused)|ECONNRESET|GOAWAY/i;
const SYSTEM_CODE = /\bE[A-Z]{4,}\b/;

/** The transport's words, which are meant for who wrote it, in words for who runs the processes. */
function howItFailed(details: string): string {
  const [code] = SYSTEM_CODE.exec(details) ?? [];
  const why = code === undefined ? '' : ` (${code})`;
  if (UNREACHED.test(details)) return `cannot be reached${why}`;
  if (BROKEN.test(details)) return `broke the connection off${why}`;
  return `failed: ${cut(details, SUMMARY_LENGTH_MAX)}`;
}

function fromCrossing(bytes: Buffer): AlmanacError {
  let crossing: CrossingError;
  try {
    crossing = JSON.parse(bytes.toString()) as CrossingError;
  } catch (cause) {
    return new AlmanacError('unexpected', `the peer's error is malformed: ${bytes.toString()}`, { cause });
  }
  const { code, message, details, retryAfterSeconds } = crossing;
  const extras = retryAfterSeconds === undefined ? { details } : { details, retryAfterSeconds };
  // A newer release may have codes that this one does not know.
  if (!Object.hasOwn(ERROR_CODES, code)) return new AlmanacError('unexpected', `${code}: ${message}`, extras);
  return new AlmanacError(code as ErrorCode, message, extras);
}

/** Half of a surrogate pair at the cut would not be text any more. */
function cut(text: string, lengthMax: number): string {
  const short = text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
  return short.replace(/[\ud800-\udfff]/gu, '\ufffd');
}

function boundedDetails(details: Readonly<Record<string, string>>): Record<string, string> {
  let left = DETAILS_LENGTH_MAX;
  const kept = Object.entries(details).filter(([key, value]) => {
    left -= key.length + value.length;
    return left >= 0;
  });
  return Object.fromEntries(kept);
}
