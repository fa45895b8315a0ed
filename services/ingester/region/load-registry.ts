import type { DuckDBConnection, DuckDBInstance } from '#shared/duckdb/engine';
import duckdb from '@duckdb/node-bindings';
import { quoteText } from '#shared/duckdb/quote';
import { bytesSql, textAt } from '#shared/duckdb/text-bytes';
import { invariant } from '#shared/errors/invariant';
import { dataType } from '#shared/schema/data-type';
import { metricTagOf, NO_METRIC } from '#shared/schema/metric-table';
import { SID, SID_FIELD_ID, TSID, TSID_FIELD_ID } from '#shared/schema/segment-columns';
import type { LocalStore } from '#shared/segments/local-store';

import type { MetricNumbers } from '../memtable/metric-numbers.js';
import type { Region } from './region.js';

/**
 * Loads a region's registry from its series files.
 *
 * The last time of each series is not stored: every series starts at the end of the region's newest data. A few rows
 * then look out of order although they are not, which costs a merge and changes nothing.
 */
export async function loadRegistry(
  region: Region,
  { engine, store }: { readonly engine: DuckDBInstance; readonly store: LocalStore },
): Promise<void> {
  const { seriesFiles, segments } = region.manifest;
  if (seriesFiles.length === 0) return;
  for (const file of seriesFiles) await store.verify(file);
  let lastTime = -Infinity;
  for (const segment of segments) lastTime = Math.max(lastTime, Number(segment.timeLast));
  const source = sourceOf(region, store);
  const { registry } = region;
  const connection = await engine.connect();
  try {
    if (registry.metrics !== undefined) await loadMetricNames(connection, source, registry.metrics);
    const result = await connection.stream(`${numbered(source)} ORDER BY sid`);
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) break;
      const count = chunk.rowCount;
      const sids = wordsOf(duckdb.data_chunk_get_vector(chunk.chunk, 0), count, 4);
      const metrics = wordsOf(duckdb.data_chunk_get_vector(chunk.chunk, 2), count, 4);
      const halves = wordsOf(duckdb.data_chunk_get_vector(chunk.chunk, 1), count, 8);
      for (let i = 0; i < count; i++) {
        invariant(sids[i] === registry.count, `series files of region ${region.regionId} have a gap`);
        registry.load(halves[2 * i], halves[2 * i + 1], lastTime);
        registry.metrics?.load(sids[i], metrics[i]);
      }
    }
  } finally {
    connection.closeSync();
  }
  const last = seriesFiles[seriesFiles.length - 1];
  invariant(registry.count === last.sidLast + 1, `series files of region ${region.regionId} are short`);
}

/** SQL of all series: `sid, tsid, name`; the name is null where there is none. */
function sourceOf({ manifest, table }: Region, store: LocalStore): string {
  const files = manifest.seriesFiles.map((file) => quoteText(store.absolute(file.path))).join(', ');
  const tag = metricTagOf(table);
  if (tag === undefined) {
    return `SELECT ${SID} AS sid, ${TSID} AS tsid, NULL::VARCHAR AS name FROM read_parquet([${files}])`;
  }
  const schema = [
    `${SID_FIELD_ID}: {name: 'sid', type: 'UINTEGER', default_value: NULL}`,
    `${TSID_FIELD_ID}: {name: 'tsid', type: 'UBIGINT', default_value: NULL}`,
    `${tag.id}: {name: 'name', type: '${dataType(tag.type).duckdb}', default_value: NULL}`,
  ].join(', ');
  return `SELECT sid, tsid, name FROM read_parquet([${files}], schema = MAP {${schema}})`;
}

/** SQL of the metrics. A window function over the names would sort all series by them. */
function metricsOf(source: string): string {
  return `SELECT name, min(sid) AS metric FROM (${source}) WHERE name IS NOT NULL GROUP BY name`;
}

/** SQL of all series: `sid, tsid, metric`. */
function numbered(source: string): string {
  const metric = `coalesce(m.metric, ${NO_METRIC}::UINTEGER)`;
  return `SELECT s.sid, s.tsid, ${metric} FROM (${source}) AS s LEFT JOIN (${metricsOf(source)}) AS m ON s.name = m.name`;
}

async function loadMetricNames(connection: DuckDBConnection, source: string, metrics: MetricNumbers): Promise<void> {
  const result = await connection.run(`SELECT ${bytesSql('name')}, metric FROM (${metricsOf(source)})`);
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    const names = chunk.getColumnVector(0);
    for (const [row, metric] of chunk.getColumnValues(1).entries()) {
      metrics.loadName(textAt(names, row) ?? '', Number(metric));
    }
  }
}

function wordsOf(vector: duckdb.Vector, count: number, width: number): Uint32Array {
  const bytes = duckdb.vector_get_data(vector, count * width);
  return new Uint32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + count * width));
}
