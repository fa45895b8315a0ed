import type { Column, ColumnIndex, Table } from '#shared/contracts/gen/common';
import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { metricOrder, ON_PHYSICAL_TABLE, PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { whyNoChange } from '#shared/schema/type-change';
import { UTC, type Zone } from '#shared/time/zone';
import { canonicalText, cellColumn } from '#shared/write/cell-value';

import { isMetricTable, sampleFields } from '../../../samples/metric-table.js';
import {
  columnSpec,
  parseColumn,
  parseIndex,
  parseType,
  type ColumnDefinition,
} from '../../syntax/column-definition.js';
import { Cursor, type ObjectName } from '../../syntax/cursor.js';
import { defaultCell, defaultSql, NOW_SQL } from '../../syntax/defaults.js';
import { lexSql } from '../../syntax/lex.js';
import { checkTableKey, checkTypes, parseSetOptions, parseUnsetOptions, tableOption } from '../../syntax/options.js';
import { optionsSet, optionUnset } from './alter-options.js';
import { parsePartitionChange, type PartitionChange } from './alter-partitions.js';
import { atAllOwners } from '../../run/owners.js';
import { command, type StatementContext, type StatementKind } from '../../statement.js';
import type { AlteredTable, TableChange } from './table-change.js';

/** Another statement may alter the table between the read and the change: then both are repeated, up to this often. */
const TRIES = 5;

/** `ALTER TABLE t ..`: columns, options, its name. */
export const alterTableStatement: StatementKind = {
  name: 'ALTER TABLE',

  matches: (cursor) => cursor.sees('ALTER', 'TABLE'),

  parse(cursor) {
    cursor.expect('ALTER', 'TABLE');
    const name = cursor.objectName('table name');
    const changes = parseChanges(cursor);
    cursor.expectEnd();
    return command(async (context) => {
      const { deps, session, call } = context;
      const database = deps.names.databaseOf(name.catalog, name.schema, session.database);
      const table = await deps.names.getStored(database, name.name, 'ALTER TABLE', call);
      for (const { newName } of changes) if (newName !== undefined) checkDatabase(newName, table, context);
      await alter(table, changes, context);
      return 0;
    });
  },
};

function checkDatabase({ catalog, schema }: ObjectName, { database, name }: Table, { deps }: StatementContext): void {
  const wanted = deps.names.databaseOf(catalog, schema, database);
  if (wanted === database) return;
  const text = `Not supported: RENAME of table "${name}" into database "${wanted}", tables stay in theirs ("${database}")`;
  throw new AlmanacError('unsupported', text);
}

/** Changes a table, again from its newest version if another statement altered it meanwhile. */
export async function alter(known: Table, changes: readonly TableChange[], context: StatementContext): Promise<void> {
  const { deps, session, call } = context;
  const { tableId } = known;
  for (let attempt = 1; ; attempt++) {
    const table = await deps.metadata.getTable({ database: '', name: '', tableId }, call);
    const fullName = deps.names.fullName(table.database, table.name);
    if (ON_PHYSICAL_TABLE in table.options) checkLogical(changes);
    const form = changes.reduce(
      (before: AlteredTable, change) => change.apply(before, table, session.zone, fullName),
      table,
    );
    if (changes.some(({ isOfOldRows }) => isOfOldRows === true)) {
      await atAllOwners(deps, table, call, (owner, regionIds) => owner.flushTable({ tableId, regionIds }, call));
    }
    try {
      const { name, columns, options, primaryKey } = form;
      const request = { tableId, schemaVersion: table.schemaVersion, name, columns, options, primaryKey };
      const { catalogVersion } = await deps.metadata.alterTable(request, call);
      await deps.catalog.reached(catalogVersion, call);
      return;
    } catch (error) {
      const { code } = AlmanacError.from(error);
      if (code === 'table_already_exists') {
        const text = `Table already exists, table: ${deps.names.fullName(table.database, form.name)}`;
        throw new AlmanacError('table_already_exists', text, { cause: error });
      }
      if (code !== 'illegal_state' || attempt === TRIES) throw error;
    }
  }
}

const COLUMN_WORDS = ['ADD', 'DROP', 'MODIFY', 'RENAME'];

function checkLogical(changes: readonly TableChange[]): void {
  if (changes.every(({ isOfLogicalTables }) => isOfLogicalTables)) return;
  throw refusal('Alter logical tables invalid arguments: Only support add columns operation');
}

function parseChanges(cursor: Cursor): TableChange[] {
  if (cursor.accept('SET')) return optionsSet(parseSetOptions(cursor, tableOption));
  if (cursor.accept('UNSET')) return parseUnsetOptions(cursor, checkTableKey).map(optionUnset);
  if (!cursor.sees('RENAME', 'COLUMN') && cursor.accept('RENAME')) return [parseRename(cursor)];
  const partitions = parsePartitionChange(cursor);
  if (partitions !== undefined) return [partitionChange(partitions)];
  const isModify = cursor.sees('MODIFY');
  const changes = [parseColumnChange(cursor)];
  while (cursor.acceptSymbol(',')) {
    // `MODIFY COLUMN a SET DEFAULT 1, b SET DEFAULT 2`
    const isNext = !COLUMN_WORDS.some((word) => cursor.sees(word)) && isModify;
    changes.push(isNext ? parseModify(cursor) : parseColumnChange(cursor));
  }
  return changes;
}

function partitionChange(change: PartitionChange): TableChange {
  return {
    // Refuses logical tables itself.
    isOfLogicalTables: true,
    apply: (form, table, _zone, fullName) => ({ ...form, options: change(form.options, table, fullName) }),
  };
}

function parseColumnChange(cursor: Cursor): TableChange {
  if (cursor.accept('ADD')) return parseAdd(cursor);
  if (cursor.accept('DROP')) return parseDrop(cursor);
  if (cursor.accept('MODIFY')) return parseModify(cursor);
  if (cursor.accept('RENAME', 'COLUMN')) return parseRenameColumn(cursor);
  throw cursor.unexpected('ADD, DROP, MODIFY, RENAME, SET, UNSET, PARTITION, REPARTITION, SPLIT or MERGE');
}

function parseAdd(cursor: Cursor): TableChange {
  cursor.accept('COLUMN');
  const ifNotExists = cursor.accept('IF', 'NOT', 'EXISTS');
  const definition = parseColumn(cursor);
  const place = parsePosition(cursor);
  const { name } = definition.spec;
  if (definition.isTimeIndex) {
    throw new AlmanacError('invalid_arguments', `Invalid alter request: column ${name} cannot be a time index`);
  }
  return {
    isOfOldRows: definition.defaultRange !== undefined,
    isOfLogicalTables: definition.isPrimaryKey,
    apply(form, table, zone) {
      // Writes of metrics add labels themselves, but other columns are allowed.
      if (PHYSICAL_METRIC_TABLE in form.options && !isMetricTable(table)) {
        throw new AlmanacError('unsupported', 'Alter request to physical region is forbidden');
      }
      if (form.columns.some((column) => column.name === name)) {
        if (ifNotExists) return form;
        throw new AlmanacError('column_exists', `Column ${name} already exists in table ${table.name}`);
      }
      const column = newColumn(definition, cursor, zone);
      checkTypes([column], form.options);
      const columns = [...form.columns];
      columns.splice(placeIn(form, table, place), 0, column);
      const isLogical = ON_PHYSICAL_TABLE in form.options;
      return {
        ...form,
        columns: isLogical ? metricOrder(columns) : columns,
        primaryKey: column.kind === 'tag' ? [...form.primaryKey, name] : form.primaryKey,
      };
    },
  };
}

/** Position after a column, before all of them, or after all of them if undefined. */
type ColumnPosition = { readonly after: string } | 'first' | undefined;

function parsePosition(cursor: Cursor): ColumnPosition {
  if (cursor.accept('FIRST')) return 'first';
  return cursor.accept('AFTER') ? { after: cursor.name('column name') } : undefined;
}

function placeIn({ columns }: AlteredTable, table: Table, place: ColumnPosition): number {
  if (place === 'first') return 0;
  return place === undefined ? columns.length : columns.indexOf(columnNamed(columns, place.after, table)) + 1;
}

function newColumn(definition: ColumnDefinition, cursor: Cursor, zone: Zone): Column {
  const kind = definition.isPrimaryKey ? 'tag' : 'field';
  const spec = columnSpec(definition, kind, cursor, zone);
  if (!spec.nullable && spec.defaultSql === '') {
    throw new AlmanacError('invalid_arguments', `no default value for column ${spec.name}`);
  }
  const column = { ...spec, id: 0, formerTypes: [], backfillSql: '' };
  return { ...column, backfillSql: backfillOf(column) };
}

/** Returns the value of older rows. The current time was not theirs. */
function backfillOf(column: Column): string {
  if (column.defaultSql === NOW_SQL) return '';
  if (column.kind === 'field') return column.defaultSql;
  const value = defaultCell(column, 0n) ?? null;
  if (value === null || value instanceof Uint8Array) return '';
  return quoteText(Buffer.from(canonicalText(cellColumn(column), value)).toString());
}

function parseDrop(cursor: Cursor): TableChange {
  cursor.accept('COLUMN');
  const name = cursor.name('column name');
  return {
    apply(form, table) {
      const column = columnNamed(form.columns, name, table);
      if (column.kind !== 'field') {
        const text = `Not allowed to remove index column ${name} from table ${table.name}`;
        throw new AlmanacError('invalid_arguments', text);
      }
      if (holdsMetrics(column, table)) {
        throw refusal(`Not allowed to remove column '${name}': metrics are stored in it`);
      }
      return { ...form, columns: form.columns.filter((it) => it !== column) };
    },
  };
}

function parseModify(cursor: Cursor): TableChange {
  cursor.accept('COLUMN');
  const name = cursor.name('column name');
  if (cursor.accept('DROP', 'DEFAULT')) {
    return changedColumn(name, (column) => {
      if (column.nullable) return { ...column, defaultSql: '' };
      throw new AlmanacError('invalid_arguments', `no default value for column ${name}`);
    });
  }
  if (cursor.accept('SET', 'DEFAULT')) {
    const { from, to } = cursor.skipExpression();
    return changedColumn(name, (column, zone) => {
      return { ...column, defaultSql: defaultSql(column, new Cursor(cursor.tokens, from, to), zone) };
    });
  }
  if (cursor.accept('SET')) return setIndex(name, cursor);
  if (cursor.accept('UNSET')) return unsetIndex(name, cursor);
  return changedType(name, parseType(cursor));
}

/** New segments get the index; stored ones when they are merged. */
function setIndex(name: string, cursor: Cursor): TableChange {
  const start = cursor.at;
  // Read to its end here, and checked once the column's type is known.
  if (parseIndex(cursor, { name, type: 'String' }) === undefined) {
    throw cursor.unexpected('DEFAULT, FULLTEXT INDEX, SKIPPING INDEX or INVERTED INDEX');
  }
  const end = cursor.at;
  return changedColumn(name, (column) => {
    const index = parseIndex(new Cursor(cursor.tokens, start, end), column);
    if (index === undefined) throw refusal(`column '${name}' cannot have an index`);
    checkAnalyzer(column, index);
    return { ...column, indexes: [...column.indexes.filter(({ kind }) => kind !== index.kind), index] };
  });
}

/** Segments that were indexed otherwise would be searched otherwise. */
function checkAnalyzer({ name, indexes }: Column, { kind, options }: ColumnIndex): void {
  const present = indexes.find((index) => index.kind === kind);
  if (present === undefined || kind !== 'FULLTEXT') return;
  for (const key of ['analyzer', 'case_sensitive']) {
    if (present.options[key] === options[key]) continue;
    throw refusal(`Not allowed to change ${key} of the FULLTEXT index of column '${name}': unset the index first`);
  }
}

function unsetIndex(name: string, cursor: Cursor): TableChange {
  const word = ['FULLTEXT', 'SKIPPING', 'INVERTED', 'VECTOR'].find((it) => cursor.accept(it));
  if (word === undefined) throw cursor.unexpected('FULLTEXT INDEX, SKIPPING INDEX or INVERTED INDEX');
  cursor.expect('INDEX');
  return changedColumn(name, (column) => ({ ...column, indexes: column.indexes.filter(({ kind }) => kind !== word) }));
}

/** Stored values stay unchanged, and are converted to the new type when they are read. */
function changedType(name: string, type: string): TableChange {
  return changedColumn(name, (column, _, table) => {
    checkTypeChange(column, type, table);
    return { ...column, type, defaultSql: defaultAs(column, type) };
  });
}

function checkTypeChange(column: Column, type: string, table: Table): void {
  const { name, kind, nullable } = column;
  if (kind === 'tag') throw refusal(`Not allowed to change primary key index column '${name}'`);
  if (kind === 'time') throw refusal(`Not allowed to change timestamp index column '${name}' datatype`);
  if (isMetricTable(table)) throw refusal(`Not allowed to change column '${name}': metrics are stored in it`);
  if (!nullable) throw refusal(`column '${name}' must be nullable to ensure safe conversion.`);
  const why = whyNoChange(column, type, table.options);
  if (why === undefined) return;
  const text = `column '${name}' cannot be cast automatically to type '${type}'`;
  throw refusal(why === '' ? text : `${text}: ${why}`);
}

/** Converts the column's default, which must be valid in the new type too. */
function defaultAs({ name, defaultSql: text }: Column, type: string): string {
  if (text === '') return text;
  const tokens = lexSql(text);
  try {
    return defaultSql({ name, type }, new Cursor(tokens, 0, tokens.count), UTC);
  } catch (cause) {
    const remedy = 'drop it before, or set another one afterwards';
    throw new AlmanacError(
      'invalid_arguments',
      `default ${text} of column '${name}' is not a valid ${type}: ${remedy}`,
      {
        cause,
      },
    );
  }
}

/** Returns whether a column holds values, histograms or start times of metrics. */
function holdsMetrics({ id }: Column, table: Table): boolean {
  if (!isMetricTable(table)) return false;
  return sampleFields(table).some(({ columns }) => [columns.value, columns.histogram, columns.start].includes(id));
}

function refusal(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}

function parseRenameColumn(cursor: Cursor): TableChange {
  const name = cursor.name('column name');
  cursor.expect('TO');
  const wanted = cursor.name('column name');
  return {
    apply(form, table, zone, fullName) {
      const column = columnNamed(form.columns, name, table);
      if (column.kind === 'tag') {
        // Names of tags are part of a series' identity.
        throw new AlmanacError(
          'unsupported',
          `Not supported: tag "${name}" of table "${table.name}" cannot be renamed`,
        );
      }
      // Senders of metrics use this name.
      if (holdsMetrics(column, table) || (column.kind === 'time' && isMetricTable(table))) {
        throw refusal(`Not allowed to rename column '${name}': metrics are stored in it`);
      }
      if (wanted !== name && form.columns.some((it) => it.name === wanted)) {
        throw new AlmanacError('column_exists', `Column ${wanted} already exists in table ${table.name}`);
      }
      return changedColumn(name, (it) => ({ ...it, name: wanted })).apply(form, table, zone, fullName);
    },
  };
}

/** Returns the change of one column. */
export function changedColumn(name: string, change: (column: Column, zone: Zone, table: Table) => Column): TableChange {
  return {
    apply(form, table, zone) {
      const column = columnNamed(form.columns, name, table);
      return { ...form, columns: form.columns.map((it) => (it === column ? change(it, zone, table) : it)) };
    },
  };
}

function parseRename(cursor: Cursor): TableChange {
  cursor.accept('TO');
  const newName = cursor.objectName('table name');
  const { name } = newName;
  return {
    newName,
    apply(form, table) {
      if (name === table.name) {
        throw new AlmanacError('table_already_exists', `Table already exists, table: ${table.database}.${name}`);
      }
      return { ...form, name };
    },
  };
}

function columnNamed(columns: readonly Column[], name: string, table: Table): Column {
  const column = columns.find((it) => it.name === name);
  if (column !== undefined) return column;
  throw new AlmanacError('column_not_found', `Column ${name} not exists in table ${table.name}`);
}
