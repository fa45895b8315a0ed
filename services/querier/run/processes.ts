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

/** What a process runs. */
type ProcessKind = 'sql' | 'promql' | 'series' | 'remote_read';

/** What is known of a process when it begins. */
export interface ProcessStart {
  readonly database: string;
  readonly text: string;
  readonly rights: Rights | undefined;
  /** ID of the client's request. */
  readonly queryId: string;
  readonly kind: ProcessKind;
  /** Ends it with an error. */
  readonly end: (error: AlmanacError) => void;
}

/** What a process has read so far. Members that are not known are undefined. */
export interface ReadFigures {
  readonly rowsScanned?: number | undefined;
  /** Size of these rows in their segments. */
  readonly bytesScanned?: number | undefined;
  /** Memory that is reserved for it. */
  readonly memoryBytes?: number | undefined;
  /** Share of the reading that is done, 0 to 1. */
  readonly progress?: number | undefined;
}

/** A process in the list. */
export interface ListedProcess {
  /** Rows that were sent so far; undefined if they are not counted. */
  rowsSent: number | undefined;
  /** Returns what it has read so far, when the list is requested; undefined: that is not known. */
  figures: (() => ReadFigures) | undefined;
  /** Removes it from the list. */
  end(): void;
}

interface Entry {
  readonly start: ProcessStart;
  readonly text: string;
  readonly startedMs: number;
  readonly listed: ListedProcess;
}

/** The statements and queries of this querier that run, or wait to run. */
export class Processes implements ProcessesService {
  readonly #options: ProcessesOptions;
  readonly #running = new Map<number, Entry>();
  #counter = 0;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  /** Lists a process until it is ended. */
  begin(start: ProcessStart): ListedProcess {
    const number = this.#options.nodeId() * NUMBERS_PER_NODE + (++this.#counter % NUMBERS_PER_NODE);
    const text = start.text.slice(0, TEXT_CHARS_MAX);
    const listed: ListedProcess = { rowsSent: undefined, figures: undefined, end: () => this.#running.delete(number) };
    this.#running.set(number, { start, text, startedMs: this.#options.clock.nowMs(), listed });
    return listed;
  }

  listProcesses(_request: Empty, { rights }: Call): Promise<ListProcessesResponse> {
    const addr = this.#options.addr();
    const processes = [...this.#running]
      .filter(([, entry]) => isVisible(entry, rights))
      .map(([number, { start, text: query, startedMs, listed }]): RunningProcess => {
        const { database, rights: own, queryId, kind } = start;
        const { rowsSent, figures } = listed;
        const about = { number, addr, database, query, user: own?.user ?? '', startedMs, queryId, kind };
        return { ...about, rowsSent, ...figures?.() };
      });
    return Promise.resolve({ processes });
  }

  killProcess({ number, queryId }: KillProcessRequest, { rights }: Call): Promise<KillProcessResponse> {
    const found = number === 0 ? this.#ofRequest(queryId) : [this.#running.get(number)];
    const ended = found.filter((entry) => entry !== undefined && isVisible(entry, rights));
    for (const entry of ended) entry?.start.end(new AlmanacError('cancelled', 'the query was ended by KILL'));
    return Promise.resolve({ killed: ended.length > 0 });
  }

  #ofRequest(queryId: string): Entry[] {
    return [...this.#running.values()].filter(({ start }) => start.queryId === queryId);
  }
}

/** Users see their own processes; administrators of every database see all. */
function isVisible({ start: { rights: own } }: Entry, rights: Rights | undefined): boolean {
  if (rights === undefined || rights.user === own?.user || rights.seesAll === true) return true;
  return mayAccess({ ...rights, grants: rights.grants.filter(({ database }) => database === '') }, 'admin');
}
