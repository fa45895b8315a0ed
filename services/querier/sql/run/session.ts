import type { Zone } from '#shared/time/zone';

/** What statements of one request leave to those after them. It ends with the request. */
export interface Session {
  database: string;
  zone: Zone;
}
