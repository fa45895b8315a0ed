import { AlmanacError } from '#shared/errors/almanac-error';
import type { ErrorCode } from '#shared/errors/codes';

/** Replies of the event collector: HTTP status and text by code. */
const REPLIES = {
  0: [200, 'Success'],
  2: [401, 'Token is required'],
  3: [401, 'Invalid authorization'],
  4: [403, 'Invalid token'],
  5: [400, 'No data'],
  6: [400, 'Invalid data format'],
  7: [400, 'Incorrect index'],
  8: [500, 'Internal server error'],
  9: [503, 'Server is busy'],
  10: [400, 'Data channel is missing'],
  11: [400, 'Invalid data channel'],
  12: [400, 'Event field is required'],
  13: [400, 'Event field cannot be blank'],
  15: [400, 'Error in handling indexed fields'],
  16: [400, 'Query string authorization is not enabled'],
  17: [200, 'HEC is healthy'],
  18: [503, 'HEC is unhealthy, queues are full'],
} as const;

/** A code of a reply of the event collector. */
export type SplunkCode = keyof typeof REPLIES;

/** Returns the HTTP status of a code. */
export function statusOfCode(code: SplunkCode): number {
  return REPLIES[code][0];
}

/** Returns the text of a code. */
export function textOfCode(code: SplunkCode): string {
  return REPLIES[code][1];
}

/** Codes of errors that are not about the events. */
const CODES_OF_ERRORS: Readonly<Partial<Record<ErrorCode, SplunkCode>>> = {
  database_not_found: 7,
  access_denied: 7,
  permission_denied: 4,
  auth_header_not_found: 2,
  invalid_auth_header: 3,
  user_not_found: 4,
  user_password_mismatch: 4,
};

/** Names of details of errors. */
const CODE = 'splunk_code';
const EVENT = 'splunk_event';

/** Makes the error for a code. @param event number of the event in the request, from 0. */
export function splunkError(code: SplunkCode, event?: number, reason = textOfCode(code)): AlmanacError {
  const details = { [CODE]: String(code), ...(event === undefined ? {} : { [EVENT]: String(event) }) };
  return new AlmanacError('invalid_arguments', reason, { http: statusOfCode(code), details });
}

/** Returns the code of any error, and the number of its event. */
export function codeOf(error: AlmanacError): { readonly code: SplunkCode; readonly event: number | undefined } {
  const { details, httpStatus } = error;
  const event = details[EVENT] === undefined ? undefined : Number(details[EVENT]);
  const own = Object.keys(REPLIES)
    .map((key) => Number(key) as SplunkCode)
    .find((code) => String(code) === details[CODE]);
  if (own !== undefined) return { code: own, event };
  const named = CODES_OF_ERRORS[error.code];
  if (named !== undefined) return { code: named, event };
  if (error.retry || httpStatus === 503 || httpStatus === 429) return { code: 9, event };
  return { code: httpStatus >= 500 ? 8 : 6, event };
}
