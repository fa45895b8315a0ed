import { labelOfTagColumn } from '#services/querier/samples/metric-table';
import { SharedIndexes } from '#services/querier/series/shared-indexes';
import type { Clock } from '#shared/clock/clock';
import type { Table } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';

/** What `seriesIndexes` takes. */
export interface SeriesIndexesOptions {
  readonly connection: DuckDBConnection;
  readonly files: { absolute(path: string): string };
  readonly clock: Clock;
  /** Memory of all indexes. Default: as much as they need. */
  readonly memoryBytes?: number;
  /** Returns the current schema of a table, which the tests know. */
  readonly schemaOf: (tableId: number) => Table | undefined | Promise<Table | undefined>;
}

/** Creates indexes of series as a querier has them. */
export function seriesIndexes({
  connection,
  files,
  clock,
  schemaOf,
  memoryBytes = Infinity,
}: SeriesIndexesOptions): SharedIndexes {
  return new SharedIndexes({
    memory: { ownBytes: memoryBytes, borrowedBytes: 0 },
    ...{ connection, files, clock, nameOf: labelOfTagColumn },
    latestSchema: async (tableId) => {
      const table = await schemaOf(tableId);
      if (table === undefined) throw new Error(`table ${tableId} is not known`);
      return table;
    },
  });
}
