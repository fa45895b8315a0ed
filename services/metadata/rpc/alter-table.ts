import type { Column, Table } from '#shared/contracts/gen/common';
import type { AlterTableRequest, AlterTableResponse } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { checkTableName } from '#shared/schema/names';
import { isAppendOnly } from '#shared/schema/table-schema';
import { whyNoChange } from '#shared/schema/type-change';
import { tableChanged, type MetadataCatalog } from '../catalog.js';
import { haveVersions } from './late-versions.js';
import { checkNoView } from './views.js';
import { checkNewColumns, existingTable, type TableRules } from './tables.js';

/**
 * Changes name, columns or options of a table.
 *
 * @throws `illegal_state` if the table's schema version is not the caller's: the change could mean something else.
 */
export function alterTable(
  catalog: MetadataCatalog,
  request: AlterTableRequest,
  rules: TableRules,
): AlterTableResponse {
  const { tableId, schemaVersion, name } = request;
  return catalog.change((record) => {
    const table = catalog.tables.findById(tableId);
    if (table === undefined) throw new AlmanacError('table_not_found', `table ${tableId} not found`);
    if (table.schemaVersion !== schemaVersion) {
      const text = `table "${table.name}" now has schema version ${table.schemaVersion}, not ${schemaVersion}`;
      throw new AlmanacError('illegal_state', text);
    }
    if (name !== table.name) checkNewName(catalog, table, name);
    // A table that has more, from before the limit was lowered, may still change.
    const columnsMax = Math.max(rules.columnsMax, table.columns.length);
    checkColumns(table, request.columns, { ...rules, columnsMax });
    if (isAppendOnly(request) && !isAppendOnly(table)) checkMayAppend(catalog, table);
    catalog.tables.alter(table, { ...request, columns: withFormerTypes(table, request.columns) });
    const altered = existingTable(catalog, tableId);
    record(tableChanged(altered));
    return { table: altered, catalogVersion: catalog.version };
  });
}

function checkNewName(catalog: MetadataCatalog, { database }: Table, name: string): void {
  checkTableName(name);
  checkNoView(catalog, catalog.database(database), name);
  if (catalog.tables.find(catalog.database(database), name) === undefined) return;
  throw new AlmanacError('table_already_exists', `table "${name}" already exists`, {
    details: { database, table: name },
  });
}

/** In append mode, deleted rows and replaced versions would become visible again. */
function checkMayAppend(catalog: MetadataCatalog, { name, regions }: Table): void {
  const remedy = 'merge its segments first, with ADMIN compact_table';
  for (const { regionId } of regions) {
    const { segments } = catalog.manifest(regionId);
    if (segments.some(({ hasOps }) => hasOps)) {
      throw new AlmanacError('invalid_arguments', `table "${name}" has deleted rows on its disk: ${remedy}`);
    }
    if (haveVersions(segments)) {
      throw new AlmanacError('invalid_arguments', `table "${name}" may have replaced rows on its disk: ${remedy}`);
    }
  }
}

/** Index columns stay, and a field keeps its kind; a new type must hold all values of the old one. */
function checkColumns(
  { name: table, columns: before, options }: Table,
  columns: readonly Column[],
  rules: TableRules,
): void {
  const byId = new Map(before.map((column) => [column.id, column]));
  const named = new Set<number>();
  for (const { id, name, type, kind } of columns) {
    if (id === 0 && kind !== 'time') continue;
    const known = byId.get(id);
    const isSame = known?.kind === kind && !named.has(id);
    if (!isSame || (known.type !== type && !mayChange(known, type, options))) {
      throw new AlmanacError(
        'invalid_arguments',
        `column "${name}" of table "${table}" cannot become ${kind} of type ${type}`,
      );
    }
    named.add(id);
  }
  for (const { id, name, kind } of before) {
    if (kind === 'field' || named.has(id)) continue;
    throw new AlmanacError('invalid_arguments', `Not allowed to remove index column ${name} from table ${table}`);
  }
  checkNewColumns(columns, rules);
}

function mayChange(column: Column, to: string, options: Table['options']): boolean {
  const { kind, nullable } = column;
  // Columns of metrics are identified by their types.
  const isOfMetrics = options[PHYSICAL_METRIC_TABLE] === 'true';
  return kind === 'field' && nullable && !isOfMetrics && whyNoChange(column, to, options) === undefined;
}

/** Adds the columns' former types, whatever the caller sent. */
function withFormerTypes({ columns: before, schemaVersion }: Table, columns: readonly Column[]): Column[] {
  const byId = new Map(before.map((column) => [column.id, column]));
  return columns.map((column) => {
    const known = byId.get(column.id);
    if (known === undefined) return { ...column, formerTypes: [] };
    const { type, formerTypes } = known;
    const isSame = type === column.type;
    return { ...column, formerTypes: isSame ? formerTypes : [...formerTypes, { type, lastVersion: schemaVersion }] };
  });
}
