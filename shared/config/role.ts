/** What a process can be; an environment name may hold for one role only. */
export const ROLES = ['standalone', 'gateway', 'ingester', 'querier', 'metadata'] as const;
export type Role = (typeof ROLES)[number];
