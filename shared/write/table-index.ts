import type { Column, RegionInfo, Table } from '#shared/contracts/gen/common';
import type { SeriesEntry } from '#shared/rowbatch/builder';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { impliedTags } from '#shared/schema/implied-tags';
import { isAppendOnly, timeIndexOf } from '#shared/schema/table-schema';

/** Lookups in a table that writes need. */
export interface TableIndex {
  readonly table: Table;
  readonly byName: ReadonlyMap<string, Column>;
  /** By name in lower case: no two columns differ by letter case alone. */
  readonly byFoldedName: ReadonlyMap<string, Column>;
  readonly timeIndex: Column;
  readonly timeUnit: TimeUnit;
  /** In order of `RegionInfo.index`. */
  readonly regions: readonly RegionInfo[];
  readonly isAppendOnly: boolean;
  /** Values of tags that series without them have, by column ID. */
  readonly implied: ReadonlyMap<number, string>;
  /** Series without such tags, by the series as senders write them. */
  readonly withoutImplied: WeakMap<SeriesEntry, SeriesEntry>;
}

const indexes = new WeakMap<Table, TableIndex>();

/** Returns the index of a schema version of a table; made once. */
export function indexOf(table: Table): TableIndex {
  let index = indexes.get(table);
  if (index === undefined) {
    const timeIndex = timeIndexOf(table);
    index = {
      table,
      byName: new Map(table.columns.map((column) => [column.name, column])),
      byFoldedName: new Map(table.columns.map((column) => [column.name.toLowerCase(), column])),
      timeIndex,
      timeUnit: dataType(timeIndex.type).timeUnit ?? 'ns',
      regions: [...table.regions].sort((a, b) => a.index - b.index),
      isAppendOnly: isAppendOnly(table),
      implied: impliedTags(table),
      withoutImplied: new WeakMap(),
    };
    indexes.set(table, index);
  }
  return index;
}
