import type { Clock } from '#shared/clock/clock';
import type { Empty } from '#shared/contracts/gen/common';
import type { RedeemTicketRequest, RedeemTicketResponse, Ticket } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { TICKET_MS } from '#shared/auth/ticket';

const TICKETS_MAX = 10_000;
const USER_TICKETS_MAX = 100;

/** Tickets that were issued within the last minute and not used. A restart loses them. */
export class Tickets {
  /** By their hashes, the oldest first. */
  readonly #kept = new Map<string, { readonly ticket: Ticket; readonly endsMs: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keeps a ticket. @throws `rate_limited` beyond a limit. */
  issue(ticket: Ticket): Empty {
    this.#dropOld();
    const ofUser = [...this.#kept.values()].filter(({ ticket: { user } }) => user === ticket.user).length;
    if (this.#kept.size >= TICKETS_MAX || ofUser >= USER_TICKETS_MAX) {
      throw new AlmanacError('rate_limited', 'too many tickets were issued and not used', {
        retryAfterSeconds: TICKET_MS / 1000,
      });
    }
    this.#kept.set(ticket.hash, { ticket, endsMs: this.#clock.monotonicMs() + TICKET_MS });
    return {};
  }

  /** Ends a ticket. @returns the ticket, if it was valid. */
  redeem({ hash }: RedeemTicketRequest): RedeemTicketResponse {
    this.#dropOld();
    const ticket = this.#kept.get(hash)?.ticket;
    this.#kept.delete(hash);
    return { ticket };
  }

  #dropOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [hash, { endsMs }] of this.#kept) {
      if (endsMs > nowMs) return;
      this.#kept.delete(hash);
    }
  }
}
