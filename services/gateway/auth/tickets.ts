import { createHash, randomBytes } from 'node:crypto';

import { ownCall, type Call } from '#shared/contracts/call';
import type { MetadataService, Ticket } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../request-context.js';

/** Where tickets are kept, so that any gateway can redeem them once. */
export type TicketDirectory = Pick<MetadataService, 'issueTicket' | 'redeemTicket'>;

/** The credentials with which a ticket was requested. */
export type TicketOwner = Pick<Ticket, 'user' | 'tokenHash' | 'verifierHash'>;

/** What a request with a ticket has. */
export interface GivenTicket {
  readonly secret: string;
  /** Path and query without the ticket. */
  readonly target: string;
}

const SECRET_BYTES = 32;
const LAST_PARAMETER = /(?:^|&)ticket=([\w-]{43})$/;
const REDEEM_MS = 10_000;

/**
 * Issues a ticket for one request.
 *
 * @param ownerOf returns whose ticket it is.
 * @param target the path and query of the request.
 * @returns `target` with the ticket as its last parameter.
 * @throws `rate_limited`.
 */
export async function issueTicket(
  directory: TicketDirectory,
  ownerOf: (secret: string) => TicketOwner,
  target: string,
  call: Call,
): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  await directory.issueTicket({ hash: sha256(secret), targetHash: sha256(target), ...ownerOf(secret) }, call);
  return `${target}${target.includes('?') ? '&' : '?'}ticket=${secret}`;
}

/** Returns the ticket of a request that has one and may use it. */
export function ticketOf(context: RequestContext): GivenTicket | undefined {
  const { request, path, search } = context;
  if (request.method !== 'GET' || !search.includes('ticket=') || context.productHeader('auth') !== undefined) {
    return undefined;
  }
  const [last, secret] = LAST_PARAMETER.exec(search) ?? [];
  if (last === undefined || secret === undefined) return undefined;
  const rest = search.slice(0, -last.length);
  return { secret, target: rest === '' ? path : `${path}?${rest}` };
}

/** Uses a ticket up. @throws `user_password_mismatch` unless it is valid for the target. */
export async function redeemTicket(
  directory: TicketDirectory,
  { secret, target }: GivenTicket,
  requestId: string,
): Promise<TicketOwner> {
  const call = ownCall(requestId, AbortSignal.timeout(REDEEM_MS));
  const { ticket } = await directory.redeemTicket({ hash: sha256(secret) }, call);
  if (ticket?.targetHash !== sha256(target)) throw invalidTicket();
  return ticket;
}

/** Returns the error of a ticket that does not admit a request. */
export function invalidTicket(): AlmanacError {
  return new AlmanacError(
    'user_password_mismatch',
    'the ticket was used, is older than a minute, or is for another URL',
  );
}

/** Returns the SHA-256 of a text in hexadecimal digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
