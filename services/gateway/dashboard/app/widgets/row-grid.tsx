import { cellText, type SqlResult } from '../data/sql-result.js';
import { zone } from '../time/zones.js';
import { Grid } from './grid.js';

/** The rows of a statement, as they are. */
export function RowGrid({ label, rows }: { readonly label: string; readonly rows: SqlResult }) {
  return (
    <Grid
      label={label}
      columns={rows.columns.map(({ name, type, kind }) => ({
        name,
        type,
        isNumber: kind === 'number' || kind === 'integer',
      }))}
      rowCount={rows.rowCount}
      cell={(column, row) => {
        const value = rows.value(column, row);
        return { text: cellText(value, rows.columns[column], zone.value), isSpecial: value === null };
      }}
    />
  );
}
