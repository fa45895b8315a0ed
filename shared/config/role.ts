/** The kinds of process; an environment variable may apply to one of them only. */
export const ROLES = ['standalone', 'gateway', 'ingester', 'querier', 'metadata'] as const;
/** A kind of process. */
export type Role = (typeof ROLES)[number];
