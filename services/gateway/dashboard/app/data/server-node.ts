/** A process of the server, as `/status` describes it. Members that only the process itself knows may be missing. */
export interface ServerNode {
  readonly role: string;
  readonly node_id: number;
  readonly addr: string;
  readonly version: string;
  readonly state: string;
  /** False: it did not reply. */
  readonly reachable: boolean;
  readonly region_count?: number;
  readonly hostname?: string;
  readonly uptime_seconds?: number;
  /** ISO 8601. */
  readonly start_time?: string;
  readonly waiting?: readonly string[];
  /** While starting: replayed share of the log, 0 to 1. */
  readonly progress?: number;
  readonly storage?: Readonly<Record<string, number>>;
}

/** Returns the value of `?node=` that names a process; undefined: the one that serves the page. */
export function nodeParameter({ role, node_id: id }: ServerNode): string | undefined {
  if (role === 'metadata') return 'metadata';
  return role === 'standalone' || id === 0 ? undefined : String(id);
}

/** Returns the name of a process for people, such as `ingester 2`. */
export function nodeName({ role, node_id: id }: ServerNode): string {
  return role === 'metadata' || id === 0 ? role : `${role} ${id}`;
}
