import type { Call } from '#shared/contracts/call';
import type { IngesterService, ScanRequest } from '#shared/contracts/gen/ingester';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RunningIngester } from './index.js';
import { dropChecked } from './rpc/check-dropped.js';

type StartedIngester = Pick<RunningIngester, 'service' | 'tableDropped'>;

/**
 * Service of an ingester that may not have started yet. Until then it refuses everything except drops of tables, which
 * it confirms with metadata and remembers: recovered rows of those tables are discarded before the first batch is
 * accepted.
 */
export class DeferredIngester {
  #started: StartedIngester | undefined;
  readonly #dropped = new Set<number>();
  readonly #metadata: () => Pick<MetadataService, 'getTable'> | undefined;

  /**
   * @param metadata returns undefined until the process has joined a cluster; before that, no drop can be confirmed.
   */
  constructor(metadata: () => Pick<MetadataService, 'getTable'> | undefined) {
    this.#metadata = metadata;
  }

  /** Serves from now on. */
  start(ingester: StartedIngester): void {
    for (const tableId of this.#dropped) ingester.tableDropped(tableId);
    this.#dropped.clear();
    this.#started = ingester;
  }

  /** Closes the regions of a dropped table, now or when the ingester starts. */
  tableDropped(tableId: number): void {
    if (this.#started === undefined) this.#dropped.add(tableId);
    else this.#started.tableDropped(tableId);
  }

  readonly service: IngesterService = {
    write: async (request, call) => this.#service().write(request, call),
    scan: (request, call) => this.#scan(request, call),
    flushTable: async (request, call) => this.#service().flushTable(request, call),
    compactTable: async (request, call) => this.#service().compactTable(request, call),
    truncateTable: async (request, call) => this.#service().truncateTable(request, call),
    regionStates: async (request, call) => this.#service().regionStates(request, call),
    fenceFlow: async (request, call) => this.#service().fenceFlow(request, call),
    dropTables: async (request, call) => {
      const metadata = this.#metadata();
      if (this.#started !== undefined || metadata === undefined) return this.#service().dropTables(request, call);
      await dropChecked(request.tableIds, metadata, call, (tableId) => this.tableDropped(tableId));
      return {};
    },
  };

  async *#scan(request: ScanRequest, call: Call): ReturnType<IngesterService['scan']> {
    yield* this.#service().scan(request, call);
  }

  #service(): IngesterService {
    if (this.#started !== undefined) return this.#started.service;
    throw new AlmanacError('region_not_ready', 'the ingester is starting', { retryAfterSeconds: 1 });
  }
}
