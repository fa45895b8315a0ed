import type { DuckDBInstance } from '#shared/duckdb/engine';
import duckdb from '@duckdb/node-bindings';
import type { SeriesFile } from '#shared/contracts/gen/common';
import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { SID, TSID } from '#shared/schema/segment-columns';
import type { LocalStore } from '#shared/segments/local-store';

import type { Region } from './region.js';

/**
 * Fills a region's registry from its series files.
 *
 * How far each series has come is not kept: every one starts at the end of the region's newest data, so that a few rows
 * look late that are not, which costs a merge and changes nothing.
 */
export async function loadRegistry(
  region: Region,
  { engine, store }: { readonly engine: DuckDBInstance; readonly store: LocalStore },
): Promise<void> {
  const { seriesFiles, segments } = region.manifest;
  if (seriesFiles.length === 0) return;
  for (const file of seriesFiles) await verify(file, store);
  let lastTime = -Infinity;
  for (const segment of segments) lastTime = Math.max(lastTime, Number(segment.timeLast));
  const files = seriesFiles.map((file) => quoteText(store.absolute(file.path))).join(', ');
  const connection = await engine.connect();
  try {
    const result = await connection.stream(`SELECT ${SID}, ${TSID} FROM read_parquet([${files}]) ORDER BY ${SID}`);
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) break;
      const count = chunk.rowCount;
      const sids = wordsOf(duckdb.data_chunk_get_vector(chunk.chunk, 0), count, 4);
      const halves = wordsOf(duckdb.data_chunk_get_vector(chunk.chunk, 1), count, 8);
      for (let i = 0; i < count; i++) {
        invariant(sids[i] === region.registry.count, `series files of region ${region.regionId} have a gap`);
        region.registry.load(halves[2 * i], halves[2 * i + 1], lastTime);
      }
    }
  } finally {
    connection.closeSync();
  }
  const last = seriesFiles[seriesFiles.length - 1];
  invariant(region.registry.count === last.sidLast + 1, `series files of region ${region.regionId} are short`);
}

async function verify(file: SeriesFile, store: LocalStore): Promise<void> {
  try {
    await store.verify(file);
  } catch (error) {
    if (error instanceof AlmanacError) throw error;
    throw new AlmanacError('storage_unavailable', `series file "${file.path}" cannot be read`, { cause: error });
  }
}

function wordsOf(vector: duckdb.Vector, count: number, width: number): Uint32Array {
  const bytes = duckdb.vector_get_data(vector, count * width);
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + count * width));
}
