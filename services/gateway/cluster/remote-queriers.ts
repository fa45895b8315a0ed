import type { Call } from '#shared/contracts/call';
import type { NodeInfo } from '#shared/contracts/gen/metadata';
import type {
  PromParseRequest,
  PromQueryRequest,
  PromReadPart,
  PromReadRequest,
  PromSeriesRequest,
  PromText,
  QuerierService,
  SqlEvent,
  SqlParseRequest,
  SqlRequest,
} from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import { RefusedError } from '#shared/grpc/call-errors';

/** A connection to a querier. */
export interface ConnectedQuerier {
  readonly service: QuerierService;
  close(): void;
}

/** Dependencies of `RemoteQueriers`. */
export interface RemoteQueriersOptions {
  /** Returns all nodes of the cluster in the catalog. */
  readonly nodes: () => readonly NodeInfo[];
  readonly connect: (addr: string) => ConnectedQuerier;
}

interface QuerierLink extends ConnectedQuerier {
  readonly addr: string;
  runningCount: number;
}

/** Queriers that may crash during one query before it fails: the query may be the cause. */
const BROKEN_MAX = 3;

/** Statements without side effects, which may run twice. */
const READS =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/|\()*(?:SELECT|WITH|SHOW|DESC|DESCRIBE|EXPLAIN|VALUES|TABLE|TQL)\b/i;

/**
 * Presents the queriers of a cluster as one: each request goes to the querier with the fewest running. A read whose querier
 * cannot be reached, or breaks off before the first byte, goes to another one.
 */
export class RemoteQueriers implements QuerierService {
  readonly #options: RemoteQueriersOptions;
  readonly #links = new Map<string, QuerierLink>();
  /** Distributes requests over queriers that are equally busy. */
  #requestCounter = 0;

  constructor(options: RemoteQueriersOptions) {
    this.#options = options;
  }

  sql(request: SqlRequest, call: Call): AsyncIterable<SqlEvent> {
    return this.#call((querier) => querier.sql(request, call), isRead(request.sql));
  }

  sqlParse(request: SqlParseRequest, call: Call): AsyncIterable<PromText> {
    return this.#call((querier) => querier.sqlParse(request, call));
  }

  promQuery(request: PromQueryRequest, call: Call): AsyncIterable<PromText> {
    return this.#call((querier) => querier.promQuery(request, call));
  }

  promTable(request: PromQueryRequest, call: Call): AsyncIterable<SqlEvent> {
    return this.#call((querier) => querier.promTable(request, call));
  }

  promSeries(request: PromSeriesRequest, call: Call): AsyncIterable<PromText> {
    return this.#call((querier) => querier.promSeries(request, call));
  }

  promParse(request: PromParseRequest, call: Call): AsyncIterable<PromText> {
    return this.#call((querier) => querier.promParse(request, call));
  }

  promRead(request: PromReadRequest, call: Call): AsyncIterable<PromReadPart> {
    return this.#call((querier) => querier.promRead(request, call));
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }

  /** @param mayRepeat whether the request may run twice. */
  async *#call<T>(run: (querier: QuerierService) => AsyncIterable<T>, mayRepeat = true): AsyncIterable<T> {
    const tried = new Set<string>();
    let failure: AlmanacError | undefined;
    let brokenCount = 0;
    for (;;) {
      const link = this.#pick(tried);
      if (link === undefined) throw failure ?? noQuerier();
      tried.add(link.addr);
      let hasBegun = false;
      link.runningCount++;
      try {
        for await (const event of run(link.service)) {
          hasBegun = true;
          yield event;
        }
        return;
      } catch (error) {
        failure = AlmanacError.from(error);
        if (hasBegun || failure.code !== 'external' || !mayRepeat) throw failure;
        if (!(failure instanceof RefusedError) && ++brokenCount === BROKEN_MAX) throw failure;
      } finally {
        link.runningCount--;
      }
    }
  }

  /** Returns the least busy ready querier that was not tried; a draining one if there is none. */
  #pick(tried: ReadonlySet<string>): QuerierLink | undefined {
    const queriers = this.#options.nodes().filter(({ role, addr }) => role === 'querier' && addr !== '');
    this.#closeAllBut(new Set(queriers.map(({ addr }) => addr)));
    const ready = queriers.filter(({ addr, state }) => state === 'ready' && !tried.has(addr));
    const others = queriers.filter(({ addr, state }) => state === 'draining' && !tried.has(addr));
    const links = (ready.length > 0 ? ready : others).map(({ addr }) => this.#link(addr));
    const fewest = Math.min(...links.map(({ runningCount }) => runningCount));
    const idlest = links.filter(({ runningCount }) => runningCount === fewest);
    return idlest.length === 0 ? undefined : idlest[this.#requestCounter++ % idlest.length];
  }

  #link(addr: string): QuerierLink {
    let link = this.#links.get(addr);
    if (link === undefined) {
      const connected = this.#options.connect(addr);
      link = { service: connected.service, close: () => connected.close(), addr, runningCount: 0 };
      this.#links.set(addr, link);
    }
    return link;
  }

  #closeAllBut(present: ReadonlySet<string>): void {
    for (const [addr, link] of this.#links) {
      if (present.has(addr) || link.runningCount > 0) continue;
      this.#links.delete(addr);
      link.close();
    }
  }
}

/** Whether the SQL is one statement that only reads; a semicolon inside a text merely prevents the second attempt. */
function isRead(sql: string): boolean {
  return READS.test(sql) && !sql.trimEnd().replace(/;$/, '').includes(';');
}

function noQuerier(): AlmanacError {
  return new AlmanacError('external', 'no querier is ready', { retryAfterSeconds: 1 });
}
