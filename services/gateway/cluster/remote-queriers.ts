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
  SqlRequest,
} from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import { RefusedError } from '#shared/grpc/status';

/** A querier behind a connection. */
export interface ConnectedQuerier {
  readonly service: QuerierService;
  close(): void;
}

export interface RemoteQueriersOptions {
  /** All nodes of the cluster, as they are known now. */
  readonly nodes: () => readonly NodeInfo[];
  readonly connect: (addr: string) => ConnectedQuerier;
}

interface Link extends ConnectedQuerier {
  readonly addr: string;
  runningCount: number;
}

/** So many queriers may break off with a question: it may be the question that ends them. */
const BROKEN_MAX = 3;

/** Statements that may run twice: what they answer is all they do. */
const READS =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/|\()*(?:SELECT|WITH|SHOW|DESC|DESCRIBE|EXPLAIN|VALUES|TABLE|TQL)\b/i;

/**
 * Queriers in processes of their own as if they were one: each request goes to the one with the fewest at work. A read
 * whose querier cannot be reached, or breaks off before its first byte, goes to another.
 */
export class RemoteQueriers implements QuerierService {
  readonly #options: RemoteQueriersOptions;
  readonly #links = new Map<string, Link>();
  #turn = 0;

  constructor(options: RemoteQueriersOptions) {
    this.#options = options;
  }

  sql(request: SqlRequest, call: Call): AsyncIterable<SqlEvent> {
    return this.#ask((querier) => querier.sql(request, call), isRead(request.sql));
  }

  promQuery(request: PromQueryRequest, call: Call): AsyncIterable<PromText> {
    return this.#ask((querier) => querier.promQuery(request, call));
  }

  promTable(request: PromQueryRequest, call: Call): AsyncIterable<SqlEvent> {
    return this.#ask((querier) => querier.promTable(request, call));
  }

  promSeries(request: PromSeriesRequest, call: Call): AsyncIterable<PromText> {
    return this.#ask((querier) => querier.promSeries(request, call));
  }

  promParse(request: PromParseRequest, call: Call): AsyncIterable<PromText> {
    return this.#ask((querier) => querier.promParse(request, call));
  }

  promRead(request: PromReadRequest, call: Call): AsyncIterable<PromReadPart> {
    return this.#ask((querier) => querier.promRead(request, call));
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }

  /** @param mayRepeat whether asking twice changes no more than asking once. */
  async *#ask<T>(ask: (querier: QuerierService) => AsyncIterable<T>, mayRepeat = true): AsyncIterable<T> {
    const tried = new Set<string>();
    let failure: AlmanacError | undefined;
    let brokenCount = 0;
    for (;;) {
      const link = this.#pick(tried);
      if (link === undefined) throw failure ?? noQuerier();
      tried.add(link.addr);
      let isBegun = false;
      link.runningCount++;
      try {
        for await (const event of ask(link.service)) {
          isBegun = true;
          yield event;
        }
        return;
      } catch (error) {
        failure = AlmanacError.from(error);
        if (isBegun || failure.code !== 'external' || !mayRepeat) throw failure;
        if (!(failure instanceof RefusedError) && ++brokenCount === BROKEN_MAX) throw failure;
      } finally {
        link.runningCount--;
      }
    }
  }

  /** The idlest querier that was not tried; those that are known to be away come last. */
  #pick(tried: ReadonlySet<string>): Link | undefined {
    const queriers = this.#options.nodes().filter(({ role, addr }) => role === 'querier' && addr !== '');
    this.#forgetAllBut(new Set(queriers.map(({ addr }) => addr)));
    const ready = queriers.filter(({ addr, state }) => state === 'ready' && !tried.has(addr));
    const others = queriers.filter(({ addr, state }) => state === 'draining' && !tried.has(addr));
    const links = (ready.length > 0 ? ready : others).map(({ addr }) => this.#link(addr));
    const fewest = Math.min(...links.map(({ runningCount }) => runningCount));
    const idlest = links.filter(({ runningCount }) => runningCount === fewest);
    return idlest.length === 0 ? undefined : idlest[this.#turn++ % idlest.length];
  }

  #link(addr: string): Link {
    let link = this.#links.get(addr);
    if (link === undefined) {
      const connected = this.#options.connect(addr);
      link = { service: connected.service, close: () => connected.close(), addr, runningCount: 0 };
      this.#links.set(addr, link);
    }
    return link;
  }

  #forgetAllBut(present: ReadonlySet<string>): void {
    for (const [addr, link] of this.#links) {
      if (present.has(addr) || link.runningCount > 0) continue;
      this.#links.delete(addr);
      link.close();
    }
  }
}

/** Whether the text is one statement that only reads; a semicolon inside of a text only costs the second try. */
function isRead(sql: string): boolean {
  return READS.test(sql) && !sql.trimEnd().replace(/;$/, '').includes(';');
}

function noQuerier(): AlmanacError {
  return new AlmanacError('external', 'no querier is ready', { retryAfterSeconds: 1 });
}
