import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

import { parameter, setParameters } from '../../core/route.js';
import { sqlRows } from '../../data/sql.js';
import { nodeName, type ServerNode } from '../../data/server-node.js';
import { bytesText, countText, secondsText } from '../../format/numbers.js';
import { Grid, type GridCell, type GridSort } from '../../widgets/grid.js';
import { LoadFailure } from '../../widgets/load-failure.js';
import { usePolled } from '../../widgets/use-polled.js';

/** A region, as system tables describe it. */
interface RegionRow {
  readonly table_schema: string;
  readonly table_name: string;
  readonly region_id: number | bigint;
  readonly peer_id: number | bigint | null;
  readonly status: string | null;
  readonly epoch: number | bigint;
  readonly region_rows: number | bigint;
  readonly disk_size: number | bigint;
  readonly sst_num: number | bigint;
  /** Null if the owner did not reply, like the following figures. */
  readonly memtable_rows: number | bigint | null;
  readonly wal_bytes: number | bigint | null;
  /** Null as well if no row is only in the log. */
  readonly flush_lag_ms: number | bigint | null;
}

const SQL = `SELECT p.table_schema, p.table_name, p.region_id, p.peer_id, p.status, s.epoch, s.region_rows, s.disk_size, s.sst_num,
  s.memtable_rows, s.wal_bytes, s.flush_lag_ms
  FROM information_schema.region_peers p JOIN information_schema.region_statistics s ON p.region_id = s.region_id
  ORDER BY p.table_schema, p.table_name, p.region_id`;
const EVERY_MS = 10_000;

/** A column: what it shows, and what it is sorted by. */
interface RegionColumn {
  readonly name: string;
  readonly isNumber: boolean;
  readonly value: (row: RegionRow) => string | number;
  readonly text?: (row: RegionRow, nodes: ReadonlyMap<number, string>) => GridCell;
}

const UNKNOWN: GridCell = { text: 'unknown', hint: 'The owner did not reply', isSpecial: true };

const COLUMNS: readonly RegionColumn[] = [
  { name: 'Database', isNumber: false, value: (row) => row.table_schema },
  { name: 'Table', isNumber: false, value: (row) => row.table_name },
  { name: 'Region', isNumber: true, value: (row) => Number(row.region_id) },
  {
    name: 'Owner',
    isNumber: false,
    value: (row) => Number(row.peer_id ?? -1),
    text: ({ peer_id: id }, nodes) => {
      if (id === null) return { text: 'none', isSpecial: true };
      return { text: nodes.get(Number(id)) ?? `node ${id}` };
    },
  },
  { name: 'State', isNumber: false, value: (row) => row.status ?? '' },
  { name: 'Epoch', isNumber: true, value: (row) => Number(row.epoch) },
  {
    name: 'Rows in segments',
    isNumber: true,
    value: (row) => Number(row.region_rows),
    text: (row) => ({ text: countText(row.region_rows) }),
  },
  {
    name: 'Bytes of segments',
    isNumber: true,
    value: (row) => Number(row.disk_size),
    text: (row) => ({ text: bytesText(Number(row.disk_size), 3), hint: `${countText(row.disk_size)} bytes` }),
  },
  { name: 'Segments', isNumber: true, value: (row) => Number(row.sst_num) },
  {
    name: 'Rows in memory',
    isNumber: true,
    value: (row) => Number(row.memtable_rows ?? -1),
    text: ({ memtable_rows: rows }) => (rows === null ? UNKNOWN : { text: countText(rows) }),
  },
  {
    name: 'Bytes in log',
    isNumber: true,
    value: (row) => Number(row.wal_bytes ?? -1),
    text: ({ wal_bytes: bytes }) =>
      bytes === null ? UNKNOWN : { text: bytesText(Number(bytes), 3), hint: `${countText(bytes)} bytes` },
  },
  {
    name: 'Flush lag',
    isNumber: true,
    value: (row) => Number(row.flush_lag_ms ?? -1),
    text: ({ flush_lag_ms: lagMs, wal_bytes: bytes }) => {
      if (lagMs === null) return bytes === null ? UNKNOWN : { text: 'none', isSpecial: true };
      return { text: secondsText(Number(lagMs) / 1000, 3), hint: 'Age of the oldest row that is in no segment' };
    },
  },
];

/** The regions of all tables that the user may read, with a search over their tables. */
export function Regions({ nodes }: { readonly nodes: readonly ServerNode[] }) {
  const { value, error, reload } = usePolled(
    (signal) => sqlRows<RegionRow>(SQL, { signal, database: 'information_schema' }),
    [],
    EVERY_MS,
  );
  const sort = useSignal<GridSort | undefined>(undefined);
  const search = parameter('s');
  const names = new Map(nodes.map((node) => [node.node_id, nodeName(node)]));
  const shown = useMemo(() => sorted(matching(value ?? [], search), sort.value), [value, search, sort.value]);
  const total = (count: (row: RegionRow) => number | bigint): number =>
    shown.reduce((sum, row) => sum + Number(count(row)), 0);
  const cell = (column: number, row: number): GridCell => {
    const { value: plain, text } = COLUMNS[column];
    return text === undefined ? { text: String(plain(shown[row])) } : text(shown[row], names);
  };
  const onSort = (column: number): void => {
    const isAgain = sort.value?.column === column;
    sort.value = { column, isDescending: isAgain ? !sort.value?.isDescending : COLUMNS[column].isNumber };
  };
  return (
    <section class="stack regions" aria-labelledby="regions-title">
      <div class="row">
        <h2 id="regions-title">Regions</h2>
        <input
          type="search"
          aria-label="Search tables"
          placeholder="Search tables"
          value={search}
          onInput={({ currentTarget: { value: text } }) =>
            setParameters({ s: text === '' ? undefined : text }, { replaces: true })
          }
        />
        {value !== undefined && (
          <span role="status" class="dim">
            {countText(shown.length)} {shown.length === 1 ? 'region' : 'regions'},{' '}
            {countText(total((row) => row.region_rows))} rows and{' '}
            {bytesText(
              total((row) => row.disk_size),
              3,
            )}{' '}
            in {countText(total((row) => row.sst_num))} segments
          </span>
        )}
      </div>
      {error !== undefined && <LoadFailure error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value?.length === 0 && (
        <p class="empty">There are no tables yet. A table is created by the first write to it, or by CREATE TABLE.</p>
      )}
      {value !== undefined && value.length > 0 && shown.length === 0 && (
        <p class="empty">No table has “{search}” in its name.</p>
      )}
      {shown.length > 0 && (
        <Grid
          label="Regions"
          columns={COLUMNS.map(({ name, isNumber }) => ({ name, isNumber }))}
          rowCount={shown.length}
          cell={cell}
          sort={sort.value}
          onSort={onSort}
        />
      )}
    </section>
  );
}

function matching(rows: readonly RegionRow[], search: string): readonly RegionRow[] {
  const wanted = search.trim().toLowerCase();
  if (wanted === '') return rows;
  return rows.filter((row) => `${row.table_schema}.${row.table_name}`.toLowerCase().includes(wanted));
}

function sorted(rows: readonly RegionRow[], sort: GridSort | undefined): readonly RegionRow[] {
  if (sort === undefined) return rows;
  const { value } = COLUMNS[sort.column];
  const sign = sort.isDescending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return x < y ? -sign : x > y ? sign : 0;
  });
}
