/** Time in which a ticket must be used. */
export const TICKET_MS = 60_000;
