import { Metadata, status, type StatusObject } from '@grpc/grpc-js';

import { AlmanacError, type ErrorExtras } from '#shared/errors/almanac-error';
import { ERROR_CODES, type ErrorCode } from '#shared/errors/codes';

import { RefusedError, StandardError, UnansweredError } from './call-errors.js';

/** Trailer with the error as JSON; the suffix lets gRPC carry any bytes. */
const ERROR_KEY = 'almanac-error-bin';
/** Limits of the trailer: HTTP/2 allows 64 KiB for all trailers together, and a character may take three bytes. */
const MESSAGE_LENGTH_MAX = 8192;
const DETAILS_LENGTH_MAX = 4096;
/** Limit of gRPC's own status text, which only foreign clients read. */
const SUMMARY_LENGTH_MAX = 256;

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

/** Converts an error to a gRPC status. Its cause is not sent. */
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

/** Returns whether a status was made by `toStatus`, not by the transport. */
export function isOfPeer({ metadata }: StatusObject): boolean {
  return metadata.get(ERROR_KEY).length > 0;
}

/** Converts a status back to the error, or to one for a failure of the transport. @param title name of the called method. */
export function fromStatus({ code, details, metadata }: StatusObject, title: string): AlmanacError {
  const [bytes] = metadata.get(ERROR_KEY);
  if (bytes instanceof Buffer) return fromCrossing(bytes, title);
  const text = `${title}: ${details}`;
  switch (code) {
    case status.DEADLINE_EXCEEDED:
      return deadlineError(title);
    case status.RESOURCE_EXHAUSTED:
      return new AlmanacError('resources_exhausted', text);
    case status.UNIMPLEMENTED:
      return new AlmanacError('unsupported', text);
    case status.UNAVAILABLE:
    case status.CANCELLED:
    case status.UNKNOWN:
    case status.INTERNAL:
      // Streams that a dying peer resets may have any of these codes.
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

/** Creates the error for a peer that did not reply in time. */
export function deadlineError(title: string): AlmanacError {
  const text = `${title} did not reply before its deadline`;
  return new AlmanacError('deadline_exceeded', text, { details: { peer: title } });
}

const UNREACHED = /^No connection established|^Name resolution failed|^Failed to connect|^No addresses/i;
const BROKEN =
  /^Connection (dropped|closed)|^Call ended without|RST_STREAM|^Stream (removed|refused)|ECONNRESET|GOAWAY/i;
const SYSTEM_CODE = /\bE[A-Z]{4,}\b/;

/** Translates the transport's messages, which address its developers, for operators. */
function howItFailed(details: string): string {
  const [code] = SYSTEM_CODE.exec(details) ?? [];
  const why = code === undefined ? '' : ` (${code})`;
  if (UNREACHED.test(details)) return `cannot be reached${why}`;
  if (BROKEN.test(details)) return `broke the connection off${why}`;
  return `failed: ${cut(details, SUMMARY_LENGTH_MAX)}`;
}

function fromCrossing(bytes: Buffer, title: string): AlmanacError {
  let crossing: CrossingError;
  try {
    crossing = JSON.parse(bytes.toString()) as CrossingError;
  } catch (cause) {
    return new AlmanacError('unexpected', `the peer's error is malformed: ${bytes.toString()}`, { cause });
  }
  const { code, message, details, retryAfterSeconds } = crossing;
  const extras = retryAfterSeconds === undefined ? { details } : { details, retryAfterSeconds };
  // A newer release may use codes that this one does not have.
  if (!Object.hasOwn(ERROR_CODES, code)) return new AlmanacError('unexpected', `${code}: ${message}`, extras);
  const error = new AlmanacError(code as ErrorCode, message, extras);
  return error.code === 'peer_not_trusted' ? namingPeer(error, title) : error;
}

/** The log of the refused process must name the one that refused it, which is also the first that the error comes from. */
function namingPeer(error: AlmanacError, title: string): AlmanacError {
  const { code, message, details } = error;
  if (details['peer'] !== undefined) return error;
  return new AlmanacError(code, `${title} ${message}`, { details: { ...details, peer: title } });
}

/** Shortens a text without splitting a surrogate pair. */
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
