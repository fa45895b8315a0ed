import { Worker } from 'node:worker_threads';

import type { Random } from '#shared/clock/random';
import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { fieldsOf } from '#shared/schema/table-schema';
import type { Logger } from '#shared/telemetry/log';
import { appendIndexes, type BuiltIndex } from '#shared/term-index/index-file';
import { termIndexOptions } from '#shared/term-index/options';

import type { IndexedColumn } from './build-indexes.js';
import type { IndexReply, IndexRequest } from './index-thread.js';
import type { IngesterMetrics } from '../metrics.js';

/** Collaborators of a `TermIndexer`. */
export interface TermIndexerDeps {
  readonly fs: FileSystem;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Pick<IngesterMetrics, 'termIndexBytes' | 'termIndexFailures'>;
}

/** Indexes the texts of new segments, one segment at a time, in a worker thread: it takes about 1 us for each row. */
export class TermIndexer {
  readonly #deps: TermIndexerDeps;
  #worker: Worker | undefined = undefined;
  #reply: ((reply: IndexReply) => void) | undefined = undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: TermIndexerDeps) {
    this.#deps = deps;
  }

  /**
   * Adds the indexes that a table wants to a file that is not published yet.
   *
   * A segment whose texts cannot be indexed is stored without: searches read all of it then.
   *
   * @throws if the file cannot be written.
   */
  async index(table: Table, path: string): Promise<void> {
    const columns = indexedColumns(table);
    if (columns.length === 0) return;
    const { fs, log, metrics } = this.#deps;
    const built = this.#last.then(() => this.#build(path, columns));
    // Without the result, which would stay in memory until the next one.
    this.#last = built.then(
      () => undefined,
      () => undefined,
    );
    let indexes: readonly BuiltIndex[];
    try {
      indexes = await built;
    } catch (error) {
      metrics.termIndexFailures.inc();
      log.warn({ table: table.name, error }, 'segment stored without its term index: searches in it read all rows');
      return;
    }
    await appendIndexes(fs, path, indexes);
    for (const { parts } of indexes) for (const { section } of parts) metrics.termIndexBytes.inc(section.length);
  }

  async #build(path: string, columns: readonly IndexedColumn[]): Promise<readonly BuiltIndex[]> {
    const worker = (this.#worker ??= this.#start());
    const seed = new DataView(this.#deps.random.bytes(4).slice().buffer).getUint32(0);
    worker.ref();
    const reply = await new Promise<IndexReply>((resolve) => {
      this.#reply = resolve;
      worker.postMessage({ path, columns, seed } satisfies IndexRequest);
    });
    worker.unref();
    if ('error' in reply) throw new AlmanacError('internal', reply.error);
    return reply.indexes;
  }

  #start(): Worker {
    const worker = new Worker(new URL('./index-thread.js', import.meta.url));
    worker.on('message', (reply: IndexReply) => this.#reply?.(reply));
    // After an error the thread exits.
    let cause = 'it ended';
    worker.on('error', (error) => (cause = error.message));
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#reply?.({ error: `the thread that indexes texts has died: ${cause}` });
    });
    return worker;
  }
}

function indexedColumns(table: Table): IndexedColumn[] {
  return fieldsOf(table).flatMap((column) => {
    const options = column.type === 'String' ? termIndexOptions(column) : undefined;
    return options === undefined ? [] : [{ id: column.id, name: column.name, options }];
  });
}
