import { cellTextOf } from './table-cells.js';
import { zone } from '../../time/zones.js';
import { Grid, type GridCell } from '../../widgets/grid.js';
import type { LogLine } from './log-line.js';
import type { LogTable } from './search/log-table.js';
import { chooseColumns, chosenColumns } from './logs-state.js';

interface TableViewProps {
  readonly lines: readonly LogLine[];
  readonly table: LogTable;
}

/** Lines as a table of the chosen columns. */
export function TableView({ lines, table }: TableViewProps) {
  const chosen = chosenColumns.value;
  const shown = table.columns.filter(({ name }) => chosen === undefined || chosen.includes(name));
  const columns = [
    { name: table.timeColumn, isNumber: false },
    ...shown.map(({ name, kind }) => ({ name, isNumber: kind === 'number' })),
  ];
  const cell = (column: number, row: number): GridCell =>
    cellTextOf(lines[row], columns[column].name, table, zone.value);
  const choose = (name: string, isShown: boolean): void => {
    const names = table.columns.map((column) => column.name);
    const before = chosen ?? names;
    const after = names.filter((other) => (other === name ? isShown : before.includes(other)));
    chooseColumns(after.length === names.length ? [] : after);
  };
  return (
    <>
      <details class="column-choice">
        <summary>
          Columns ({shown.length} of {table.columns.length})
        </summary>
        <div class="row">
          {table.columns.map(({ name }) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={shown.some((column) => column.name === name)}
                disabled={shown.length === 1 && shown[0].name === name}
                onChange={({ currentTarget }) => choose(name, currentTarget.checked)}
              />
              <bdi>{name}</bdi>
            </label>
          ))}
        </div>
      </details>
      <Grid label="Lines as a table" columns={columns} rowCount={lines.length} cell={cell} />
    </>
  );
}
