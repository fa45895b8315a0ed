import { dataType } from '#shared/schema/data-type';
import { typeAt } from '#shared/schema/former-types';
import { OP } from '#shared/schema/segment-columns';
import { mergeModeOf } from '#shared/schema/table-schema';
import type { Column } from '#shared/contracts/gen/common';

import type { RegionSource, TableSource } from '../snapshot/snapshots.js';
import { overlaps } from '#shared/segments/bands';
import { NO_INDEX, type KernelQuery } from './query.js';

/** Returns why the engine must read the data of a query, as far as that is known without reading a file; undefined: it need not. */
export function refusalOf(query: KernelQuery, source: TableSource): string | undefined {
  const readsTags =
    query.tagConditions.length > 0 ||
    query.labelTags.length > 0 ||
    (query.kind === 'rows' && query.columns.some(({ kind }) => kind === 'tag'));
  for (const region of source.regions) {
    if (region.isUnselected || (readsTags && region.view.series?.isUnindexed === true)) return NO_INDEX;
    const refusal = refusalOfRegion(region, source, query.fields);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Reports whether rows of a region may be deletions. */
export function hasDeletions({ view, segments }: RegionSource): boolean {
  return segments.some(({ columns }) => columns.has(OP.id)) || view.parts.some(({ part }) => part.fieldIds.has(OP.id));
}

function refusalOfRegion(
  region: RegionSource,
  { bounds, table }: TableSource,
  fields: readonly Column[],
): string | undefined {
  const { view, segments, named } = region;
  if (named?.sids.length === 0) return undefined;
  const parts = view.parts.filter(({ part }) => part.times !== undefined && overlaps(part.times, bounds));
  if (mergeModeOf(table) === 'last_non_null' && hasDeletions(region)) return 'the time range has deletions';
  if (segments.some(({ selection }) => selection.conditions !== undefined)) return 'a term index selects rows';
  for (const field of fields) {
    const isChanged =
      segments.some(({ segment }) => typeAt(field, segment.schemaVersion) !== field.type) ||
      parts.some(({ part }) => (part.types.get(field.id) ?? field.type) !== field.type);
    if (isChanged) return `the type of "${field.name}" was changed`;
    if (field.backfillSql !== '' && segments.some(({ columns }) => !columns.has(field.id))) {
      return `"${field.name}" was added with a default`;
    }
  }
  return undefined;
}

/** Reports whether kernels read fields of a type. */
export function isNumeric(type: string): boolean {
  const { storage, timeUnit } = dataType(type);
  return (storage === 'int' && timeUnit === undefined && type !== 'Date') || storage.startsWith('float');
}
