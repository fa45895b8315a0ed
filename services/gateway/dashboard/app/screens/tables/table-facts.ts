import { quotedName, quotedText, runSql, sqlRows } from '../../data/sql.js';
import { cellText } from '../../data/sql-result.js';

/** A table, view or flow in the list. */
export interface ListedTable {
  readonly name: string;
  /** `table`, `view`, or what its rows are: `metrics`, `logs`, `traces`. */
  readonly kind: string;
  /** Bytes of its segments; null for what stores nothing. */
  readonly diskBytes: number | null;
  /** Rows in its segments. */
  readonly storedRows: number | null;
}

/** Returns the tables and views of a database. */
export async function listTables(database: string, signal: AbortSignal): Promise<readonly ListedTable[]> {
  const schema = quotedText(database);
  const [tables, semantics] = await Promise.all([
    sqlRows<TableRow>(
      'SELECT table_name, table_type, table_rows, data_length FROM information_schema.tables ' +
        `WHERE table_schema = ${schema} AND table_type <> 'LOCAL TEMPORARY' ORDER BY table_name`,
      { signal },
    ),
    sqlRows<SemanticsRow>(
      `SELECT table_name, signal_type FROM information_schema.table_semantics WHERE table_schema = ${schema}`,
      { signal },
    ),
  ]);
  const kinds = new Map(semantics.map(({ table_name: name, signal_type: kind }) => [name, kind]));
  return tables.map(({ table_name: name, table_type: type, table_rows: rows, data_length: bytes }) => ({
    name,
    kind: type === 'VIEW' ? 'view' : (kinds.get(name) ?? 'table'),
    diskBytes: bytes === null ? null : Number(bytes),
    storedRows: rows === null ? null : Number(rows),
  }));
}

interface TableRow {
  readonly table_name: string;
  readonly table_type: string;
  readonly table_rows: bigint | number | null;
  readonly data_length: bigint | number | null;
}

interface SemanticsRow {
  readonly table_name: string;
  readonly signal_type: string;
}

/** A region of a table: where a part of its series is. */
export interface TableRegion {
  readonly id: string;
  /** Node that owns it. */
  readonly node: string;
  readonly state: string;
  readonly rows: number;
  readonly segments: number;
  readonly diskBytes: number;
}

/** Returns the regions of a table. */
export async function tableRegions(
  database: string,
  table: string,
  signal: AbortSignal,
): Promise<readonly TableRegion[]> {
  const rows = await sqlRows<RegionRow>(
    'SELECT p.region_id AS id, p.peer_id AS node, p.status AS state, s.region_rows AS row_count, s.sst_num AS segments, ' +
      's.disk_size AS disk FROM information_schema.region_peers AS p ' +
      'JOIN information_schema.region_statistics AS s ON s.region_id = p.region_id ' +
      `WHERE p.table_schema = ${quotedText(database)} AND p.table_name = ${quotedText(table)} ORDER BY 1`,
    { signal },
  );
  return rows.map(({ id, node, state, row_count: rowCount, segments, disk }) => ({
    id: String(id),
    node: node === null ? 'none' : String(node),
    state: state ?? 'unknown',
    rows: Number(rowCount ?? 0),
    segments: Number(segments ?? 0),
    diskBytes: Number(disk ?? 0),
  }));
}

interface RegionRow {
  readonly id: bigint;
  readonly node: bigint | null;
  readonly state: string | null;
  readonly row_count: bigint | null;
  readonly segments: bigint | null;
  readonly disk: bigint | null;
}

/** How many rows a table has, in memory too, and when its first and last ones are. */
export interface TableExtent {
  readonly rowCount: bigint;
  readonly first: string;
  readonly last: string;
}

/** Counts the rows of a table. @param timeIndex undefined for what has none. */
export async function tableExtent(
  table: string,
  timeIndex: string | undefined,
  zone: string,
  signal: AbortSignal,
): Promise<TableExtent> {
  const time = timeIndex === undefined ? '' : `, min(${quotedName(timeIndex)}), max(${quotedName(timeIndex)})`;
  const result = await runSql(`SELECT count(*)${time} FROM ${quotedName(table)}`, { signal });
  const text = (column: number): string =>
    result.columns.length <= column ? '' : cellText(result.value(column, 0), result.columns[column], zone);
  return { rowCount: BigInt(String(result.value(0, 0))), first: text(1), last: text(2) };
}

/** Returns the statement that creates a table or view. */
export async function tableDefinition(table: string, kind: string, signal: AbortSignal): Promise<string> {
  const result = await runSql(`SHOW CREATE ${kind === 'view' ? 'VIEW' : 'TABLE'} ${quotedName(table)}`, { signal });
  return String(result.value(1, 0));
}
