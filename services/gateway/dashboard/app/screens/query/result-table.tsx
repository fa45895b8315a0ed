import { useComputed, useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

import { exactText } from '../../format/numbers.js';
import { seriesText } from '../../data/promql.js';
import { cellText, type CellValue, type SqlColumn } from '../../data/sql-result.js';
import { civilOf, civilText } from '../../time/civil.js';
import { zone } from '../../time/zones.js';
import { Grid, type GridCell, type GridColumn, type GridSort } from '../../widgets/grid.js';
import { CellDialog } from './cell-dialog.js';
import { ColumnsPanel } from './columns-panel.js';
import { ExportMenu } from './export-menu.js';
import type { QueryOutcome } from './run.js';
import { sortedRows } from './sorted-rows.js';

type RowsOutcome = Extract<QueryOutcome, { kind: 'rows' }>;
type SeriesOutcome = Extract<QueryOutcome, { kind: 'series' }>;

/** Sorting more would hold up the page. */
const SORTED_MAX = 200_000;

/** The rows of a statement. */
export function ResultTable({ outcome }: { readonly outcome: RowsOutcome }) {
  const { rows, rowCount, state, query } = outcome;
  const sort = useSignal<GridSort | undefined>(undefined);
  const hidden = useSignal<ReadonlySet<number>>(new Set());
  const pinned = useSignal<ReadonlySet<number>>(new Set());
  const hasPanel = useSignal(false);
  const opened = useSignal<{ readonly column: SqlColumn; readonly value: CellValue } | undefined>(undefined);
  const isPinned = (place: number): boolean => pinned.value.has(place);
  const canSort = state === 'done' && rowCount <= SORTED_MAX;
  const order = useMemo(
    () => (sort.value === undefined || !canSort ? undefined : sortedRows(rows, rowCount, sort.value)),
    [rows, rowCount, sort.value, canSort],
  );
  // The places of the columns that are shown, with the pinned ones before the others.
  const shown = useMemo(() => {
    const places = [...rows.columns.keys()].filter((place) => !hidden.value.has(place));
    return [...places.filter(isPinned), ...places.filter((place) => !isPinned(place))];
  }, [rows, hidden.value, pinned.value]);
  const columns = useMemo(() => shown.map((place) => gridColumn(rows.columns[place])), [rows, shown]);
  const cell = (column: number, row: number): GridCell => {
    const value = rows.value(shown[column], order?.[row] ?? row);
    return gridCell(value, rows.columns[shown[column]]);
  };
  const sortedColumn = shown.indexOf(sort.value?.column ?? -1);
  const chooseSort = (at: number): void => {
    const { value } = sort;
    const column = shown[at];
    if (value?.column !== column) sort.value = { column, isDescending: false };
    else sort.value = value.isDescending ? undefined : { column, isDescending: true };
  };
  return (
    <>
      <div class="row">
        <ExportMenu statement={query.text} rowCount={rowCount} />
        {rowCount > 0 && (
          <button
            type="button"
            class="plain"
            aria-expanded={hasPanel.value}
            onClick={() => (hasPanel.value = !hasPanel.value)}
          >
            Columns{hidden.value.size > 0 && ` (${hidden.value.size} hidden)`}
          </button>
        )}
      </div>
      {hasPanel.value && state !== 'running' && (
        <ColumnsPanel
          rows={rows}
          rowCount={rowCount}
          hidden={hidden.value}
          onHide={(next) => (hidden.value = next)}
          pinned={pinned.value}
          onPin={(next) => (pinned.value = next)}
        />
      )}
      {rowCount === 0 && state === 'done' && <p class="dim">The statement returned no rows.</p>}
      <Grid
        label="Rows"
        columns={columns}
        rowCount={rowCount}
        pinnedCount={shown.filter(isPinned).length}
        cell={cell}
        sort={sort.value && { ...sort.value, column: sortedColumn }}
        {...(canSort ? { onSort: chooseSort } : {})}
        onOpen={(column, row) => {
          const value = rows.value(shown[column], order?.[row] ?? row);
          opened.value = { column: rows.columns[shown[column]], value };
        }}
      />
      <CellDialog opened={opened.value} onClose={() => (opened.value = undefined)} />
    </>
  );
}

/** The series of a PromQL query: their last values at one instant, all samples of a range. */
export function SeriesTable({ outcome }: { readonly outcome: SeriesOutcome }) {
  const { series } = outcome.result;
  const isInstant = outcome.stepSeconds === 0;
  const labelNames = useMemo(() => [...new Set(series.flatMap(({ labels }) => Object.keys(labels)))].sort(), [series]);
  const columns = useComputed<readonly GridColumn[]>(() => [
    ...labelNames.map((name) => ({ name, isNumber: false })),
    ...(isInstant
      ? [{ name: 'time', isNumber: false }]
      : [
          { name: 'samples', isNumber: true },
          { name: 'last time', isNumber: false },
        ]),
    { name: isInstant ? 'value' : 'last value', isNumber: true },
  ]);
  const cell = (column: number, row: number): GridCell => {
    const { labels, times, values } = series[row];
    if (column < labelNames.length) {
      const name = labelNames[column];
      // A label may be called `constructor`.
      const text = Object.hasOwn(labels, name) ? labels[name] : undefined;
      return { text: text ?? '', isSpecial: text === undefined, hint: seriesText(labels) };
    }
    const name = columns.value[column].name;
    if (name === 'samples') return { text: String(values.length) };
    const last = values.length - 1;
    if (name === 'value' || name === 'last value') return { text: last < 0 ? '' : exactText(values[last]) };
    return { text: last < 0 ? '' : civilText(civilOf(times[last], zone.value), 3), hint: String(times[last]) };
  };
  if (series.length === 0) return <p class="dim">The query matched no series in this range.</p>;
  return <Grid label="Series" columns={columns.value} rowCount={series.length} cell={cell} />;
}

function gridColumn({ name, type, kind }: SqlColumn): GridColumn {
  return { name, type, isNumber: kind === 'number' || kind === 'integer' };
}

function gridCell(value: CellValue, column: SqlColumn): GridCell {
  if (value === '') return { text: '""', isSpecial: true };
  const text = cellText(value, column, zone.value);
  const hint = column.kind === 'time' && value !== null ? String(value) : undefined;
  return { text, isSpecial: value === null, hint };
}
