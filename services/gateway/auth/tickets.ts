import { createHash, randomBytes } from 'node:crypto';

import { ownCall } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../request-context.js';

/** Where tickets are kept, so that any gateway can redeem them once. */
export type TicketDirectory = Pick<MetadataService, 'issueTicket' | 'redeemTicket'>;

/** Who asked for a ticket. */
export interface TicketOwner {
  readonly user: string;
  /** SHA-256 of the token that was used; empty: a password. */
  readonly tokenHash: string;
}

const SECRET_BYTES = 32;
const LAST_PARAMETER = /[?&]ticket=([\w-]{43})$/;

/**
 * Issues a ticket for one request.
 *
 * @param target the path and query of the request.
 * @returns `target` with the ticket as its last parameter.
 * @throws `rate_limited`.
 */
export async function issueTicket(directory: TicketDirectory, owner: TicketOwner, target: string): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  await directory.issueTicket({ hash: hashOf(secret), targetHash: hashOf(target), ...owner }, ownCall('ticket'));
  return `${target}${target.includes('?') ? '&' : '?'}ticket=${secret}`;
}

/** Returns the ticket and the rest of the target of a request that has one, and no other credentials. */
export function ticketOf({
  request,
  path,
  search,
}: RequestContext): readonly [secret: string, target: string] | undefined {
  if (request.method !== 'GET' || !search.includes('ticket=')) return undefined;
  const whole = `${path}?${search}`;
  const [last, secret] = LAST_PARAMETER.exec(whole) ?? [];
  return last === undefined ? undefined : [secret, whole.slice(0, -last.length)];
}

/** Uses a ticket up. @returns who asked for it. @throws `user_password_mismatch` unless it is valid for the target. */
export async function redeemTicket(directory: TicketDirectory, secret: string, target: string): Promise<TicketOwner> {
  const { ticket } = await directory.redeemTicket({ hash: hashOf(secret) }, ownCall('ticket'));
  if (ticket?.targetHash !== hashOf(target)) throw invalidTicket();
  return ticket;
}

/** Returns the error of a ticket that does not admit a request. */
export function invalidTicket(): AlmanacError {
  return new AlmanacError(
    'user_password_mismatch',
    'the ticket was used, is older than a minute, or is for another URL',
  );
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
