import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

import { setParameters } from '../../../core/route.js';
import { counted } from '../../../format/counted.js';
import { countText } from '../../../format/numbers.js';
import { isFound } from '../../../widgets/flame/flame-data.js';
import { Grid, type GridCell, type GridSort } from '../../../widgets/grid.js';
import { microsecondText } from '../duration.js';
import type { SpanTree } from '../span-tree.js';
import { findText } from '../traces-state.js';
import { operationStatistics, type OperationStatistics } from './operation-statistics.js';
import { OperationSearch } from './operation-search.js';

interface StatisticsColumn {
  readonly name: string;
  readonly isNumber: boolean;
  readonly value: (row: OperationStatistics) => string | number;
  readonly text: (row: OperationStatistics) => string;
}

const durationColumn = (name: string, value: (row: OperationStatistics) => number): StatisticsColumn => {
  return { name, isNumber: true, value, text: (row) => microsecondText(Math.round(value(row))) };
};
const countColumn = (name: string, value: (row: OperationStatistics) => number): StatisticsColumn => {
  return { name, isNumber: true, value, text: (row) => countText(value(row)) };
};
const textColumn = (name: string, value: (row: OperationStatistics) => string): StatisticsColumn => {
  return { name, isNumber: false, value, text: value };
};

const COLUMNS: readonly StatisticsColumn[] = [
  textColumn('Service', ({ service }) => service),
  textColumn('Operation', ({ operation }) => operation),
  countColumn('Count', ({ count }) => count),
  countColumn('Errors', ({ errorCount }) => errorCount),
  durationColumn('Total', ({ totalUs }) => totalUs),
  durationColumn('Self', ({ selfUs }) => selfUs),
  durationColumn('Avg', ({ averageUs }) => averageUs),
  durationColumn('p95', ({ p95Us }) => p95Us),
];
const SELF = COLUMNS.findIndex(({ name }) => name === 'Self');

/** What each operation of a trace took. Enter, or a double click, shows its spans in the waterfall. */
export function TraceStatisticsView({ tree }: { readonly tree: SpanTree }) {
  const sort = useSignal<GridSort>({ column: SELF, isDescending: true });
  const all = useMemo(() => operationStatistics(tree), [tree]);
  const search = findText.value;
  const shown = useMemo(() => {
    const hasWords = ({ service, operation }: OperationStatistics) =>
      isFound({ name: operation, file: service }, search);
    return sortedRows(search.trim() === '' ? all : all.filter(hasWords), sort.value);
  }, [all, search, sort.value]);
  const cell = (column: number, row: number): GridCell => ({ text: COLUMNS[column].text(shown[row]) });
  return (
    <>
      <div class="row trace-tools">
        <OperationSearch />
        <span role="status" class="dim">
          {counted(shown.length, 'operation')}
        </span>
      </div>
      {shown.length === 0 ? (
        <p class="empty">No service or operation has these words in its name.</p>
      ) : (
        <Grid
          label="Operations"
          columns={COLUMNS}
          rowCount={shown.length}
          cell={cell}
          sort={sort.value}
          onSort={(column) => {
            const isAgain = sort.value.column === column;
            sort.value = { column, isDescending: isAgain ? !sort.value.isDescending : COLUMNS[column].isNumber };
          }}
          onOpen={(_column, row) => setParameters({ view: undefined, find: shown[row].operation || undefined })}
        />
      )}
    </>
  );
}

function sortedRows(rows: readonly OperationStatistics[], { column, isDescending }: GridSort): OperationStatistics[] {
  const { value } = COLUMNS[column];
  const sign = isDescending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    return left === right ? 0 : left < right ? -sign : sign;
  });
}
