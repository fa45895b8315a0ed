import { join } from 'node:path';

import { ColumnCache } from '#services/querier/columns/column-cache';
import { OpenSegments } from '#services/querier/columns/open-segments';
import type { LabelMatcher } from '#services/querier/series/matcher';
import { printLabels } from '#services/querier/series/labels';
import type { SampleSeries } from '#services/querier/promql/runtime/samples';
import { latestSchema } from '#services/querier/samples/latest-schema';
import { SampleStore } from '#services/querier/samples/sample-store';
import { SegmentFiles } from '#services/querier/snapshot/segment-files';
import { systemClock, type Clock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { CatalogCache } from '#shared/discovery/catalog-cache';
import { DirectIngesters } from '#shared/discovery/direct-ingesters';
import { ManifestCache } from '#shared/discovery/manifest-cache';
import type { Table } from '#shared/contracts/gen/common';
import { openSandbox } from '#shared/duckdb/engine';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { UNCOUNTED_SLOT } from '#shared/limits/bounded-queue';
import { LocalStore } from '#shared/segments/local-store';

import { seriesIndexes } from './series-indexes.js';
import { KeptLog } from './quiet-log.js';
import { CALL, type StorageRig } from './storage-rig.js';

const COLUMN_CACHE = { footerBytes: 1 << 20, runBytes: 1 << 20, valueBytes: 0 };

/** Range of all times in milliseconds. */
export const FOREVER = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] as const;

/** Opens a sample store over a rig's data, without cached data. */
export async function openSamples(
  rig: StorageRig,
  spillFolder: string,
  clock: Clock = systemClock,
  segmentRead: (reader: string) => void = () => undefined,
): Promise<{ readonly store: SampleStore; close(): void }> {
  const local = new LocalStore(join(rig.folder, 'store'), nodeFileSystem);
  const query = await openSandbox({ threads: 1, memoryBytes: 1 << 28, spillFolder }, local.root);
  const connection = await query.connect();
  const metadata = rig.metadata.service;
  const cache = new ColumnCache(local, COLUMN_CACHE);
  const open = new OpenSegments(cache, clock);
  const catalog = new CatalogCache({ metadata, clock: systemClock, random: systemRandom, log: new KeptLog() });
  const files = new SegmentFiles({ store: local, connection, confirmDataFolder: () => Promise.resolve(), clock });
  const schemaOf = (tableId: number): Promise<Table> => latestSchema(tableId, { catalog, clock });
  const store = new SampleStore({
    catalog,
    ingesters: new DirectIngesters(rig.nodeId, rig.ingester),
    manifests: new ManifestCache(metadata),
    files,
    indexes: seriesIndexes({ connection, files, clock, schemaOf }),
    columns: { cache, open },
    connection,
    segmentRead,
    clock,
    cacheBytes: 1 << 20,
    labelBytes: 1 << 20,
    metadataTable: 'metadata',
  });
  const close = (): void => {
    open.stop();
    query.closeSync();
  };
  return { store, close };
}

/** Parses a matcher `name=value` with any operator. */
export function matcher(text: string): LabelMatcher {
  const [, name, op, value] = /^(\w+)(=~|!~|!=|=)(.*)$/.exec(text) ?? [];
  return { name, op, value } as LabelMatcher;
}

/** Returns the selected series as `{labels} time:value ..`, times in seconds. */
export async function selectSamples(
  store: SampleStore,
  texts: readonly string[],
  [fromMs, toMs]: readonly [number, number] = FOREVER,
): Promise<string[]> {
  const open = await store.open('public', CALL, UNCOUNTED_SLOT);
  try {
    return printed(await open.select(texts.map(matcher), fromMs, toMs));
  } finally {
    open.close();
  }
}

/** Formats series as `{labels} time:value ..`, times in seconds. */
export function printed(series: readonly SampleSeries[]): string[] {
  return series
    .map(({ labels, times, values }) => {
      const samples = Array.from(times, (time, i) => `${time / 1000}:${values[i]}`);
      return [printLabels(labels), ...samples].join(' ');
    })
    .sort();
}
