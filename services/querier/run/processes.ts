import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { Empty } from '#shared/contracts/gen/common';
import type {
  KillProcessRequest,
  KillProcessResponse,
  ListProcessesResponse,
  ProcessesService,
  RunningProcess,
} from '#shared/contracts/gen/processes';
import { mayAccess, type Rights } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';

const TEXT_CHARS_MAX = 1_000;
/** Numbers of one node; far more than it starts between two starts of the node. */
const NUMBERS_PER_NODE = 10_000_000_000;

/** Dependencies of `Processes`. */
export interface ProcessesOptions {
  readonly clock: Clock;
  /** Address by which users recognise the querier. */
  readonly addr: () => string;
  /** Makes numbers unique in a cluster; zero in a standalone process. */
  readonly nodeId: () => number;
}

/** What is known of a process when it begins. */
export interface ProcessStart {
  readonly database: string;
  readonly text: string;
  readonly rights: Rights | undefined;
  /** Ends it with an error. */
  readonly end: (error: AlmanacError) => void;
}

interface Entry extends ProcessStart {
  readonly startedMs: number;
}

/** The statements and queries of this querier that run, or wait to run. */
export class Processes implements ProcessesService {
  readonly #options: ProcessesOptions;
  readonly #running = new Map<number, Entry>();
  #counter = 0;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  /** Lists a process until the returned function is called. */
  begin(start: ProcessStart): () => void {
    const number = this.#options.nodeId() * NUMBERS_PER_NODE + (++this.#counter % NUMBERS_PER_NODE);
    const text = start.text.slice(0, TEXT_CHARS_MAX);
    this.#running.set(number, { ...start, text, startedMs: this.#options.clock.nowMs() });
    return () => this.#running.delete(number);
  }

  listProcesses(_request: Empty, { rights }: Call): Promise<ListProcessesResponse> {
    const addr = this.#options.addr();
    const processes = [...this.#running]
      .filter(([, entry]) => isVisible(entry, rights))
      .map(([number, { database, text: query, rights: own, startedMs }]): RunningProcess => {
        return { number, addr, database, query, user: own?.user ?? '', startedMs };
      });
    return Promise.resolve({ processes });
  }

  killProcess({ number }: KillProcessRequest, { rights }: Call): Promise<KillProcessResponse> {
    const entry = this.#running.get(number);
    if (entry === undefined || !isVisible(entry, rights)) return Promise.resolve({ killed: false });
    entry.end(new AlmanacError('cancelled', 'the query was ended by KILL'));
    return Promise.resolve({ killed: true });
  }
}

/** Users see their own processes; administrators of every database see all. */
function isVisible({ rights: own }: Entry, rights: Rights | undefined): boolean {
  if (rights === undefined || rights.user === own?.user) return true;
  return mayAccess({ ...rights, grants: rights.grants.filter(({ database }) => database === '') }, 'admin');
}
