/** The worker thread that indexes the texts of segments (see `term-indexer.ts`). */
import { parentPort } from 'node:worker_threads';

import { nodeFileSystem } from '#shared/fs/node-file-system';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { BuiltIndex } from '#shared/term-index/index-file';

import { buildIndexes, type IndexedColumn } from './build-indexes.js';

/** A segment to index. */
export interface IndexRequest {
  readonly path: string;
  readonly columns: readonly IndexedColumn[];
  /** A random number of 32 bits. */
  readonly seed: number;
}

/** The indexes of the segment, or why there are none. */
export type IndexReply = { readonly indexes: readonly BuiltIndex[] } | { readonly error: string };

parentPort?.on('message', ({ path, columns, seed }: IndexRequest) => {
  void buildIndexes(nodeFileSystem, path, columns, seed).then(
    (indexes) => {
      const buffers = indexes.flatMap(({ parts }) => parts.map(({ section }) => section.buffer as ArrayBuffer));
      parentPort?.postMessage({ indexes } satisfies IndexReply, buffers);
    },
    (error: unknown) => {
      parentPort?.postMessage({ error: AlmanacError.from(error).message } satisfies IndexReply);
    },
  );
});
