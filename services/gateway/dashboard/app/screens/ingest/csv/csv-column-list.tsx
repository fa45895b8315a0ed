import type { ColumnRole } from '../../../data/table-schema.js';
import type { CsvColumn, TargetColumn } from './csv-columns.js';
import { csvDraft as draft } from './csv-draft.js';
import { CSV_TYPES } from './csv-values.js';

const ROLES: readonly ColumnRole[] = ['tag', 'field', 'time index'];
const LEFT_OUT = 'left out';

/** What becomes of each column of the file: a column of a new table, or one of a table that exists. */
export function CsvColumnList() {
  const existing = draft.existing.value;
  return (
    <div class="csv-columns" role="group" aria-label="Columns">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">In the file</th>
            <th scope="col">In the table</th>
            <th scope="col">Type</th>
            <th scope="col">Used as</th>
          </tr>
        </thead>
        <tbody>
          {draft.columns.value.map((column) => (
            <tr key={column.place}>
              <th scope="row">
                <bdi>{titleOf(column)}</bdi>
              </th>
              {existing === undefined ? <NewColumn {...column} /> : <ExistingColumn {...column} />}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function titleOf({ header, place }: CsvColumn): string {
  return header === '' ? `column ${place + 1}` : header;
}

function NewColumn(column: CsvColumn) {
  const { place, target } = column;
  const title = titleOf(column);
  const shown: TargetColumn = target ?? { name: title, type: 'STRING', role: 'field' };
  const change = (changes: Partial<TargetColumn>): void => draft.change(place, { ...shown, ...changes });
  return (
    <>
      <td>
        <input
          aria-label={`Name of ${title}`}
          value={shown.name}
          disabled={target === undefined}
          onInput={({ currentTarget }) => change({ name: currentTarget.value })}
        />
      </td>
      <td>
        <select
          aria-label={`Type of ${title}`}
          value={shown.type}
          disabled={target === undefined}
          onChange={({ currentTarget }) => change({ type: currentTarget.value })}
        >
          {Object.entries(CSV_TYPES).map(([type, name]) => (
            <option key={type} value={type}>
              {type} ({name})
            </option>
          ))}
        </select>
      </td>
      <td>
        <select
          aria-label={`Use of ${title}`}
          value={target?.role ?? LEFT_OUT}
          onChange={({ currentTarget: { value } }) => {
            draft.change(place, value === LEFT_OUT ? undefined : { ...shown, role: value as ColumnRole });
          }}
        >
          {[...ROLES, LEFT_OUT].map((role) => (
            <option key={role} value={role}>
              {role}
            </option>
          ))}
        </select>
      </td>
    </>
  );
}

function ExistingColumn(column: CsvColumn) {
  const { place, target } = column;
  const columns = draft.existing.value?.columns ?? [];
  return (
    <>
      <td>
        <select
          aria-label={`Column for ${titleOf(column)}`}
          value={target?.name ?? ''}
          onChange={({ currentTarget: { value } }) => {
            draft.change(
              place,
              columns.find(({ name }) => name === value),
            );
          }}
        >
          <option value="">{LEFT_OUT}</option>
          {columns.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </td>
      <td>{target?.type}</td>
      <td>{target?.role ?? LEFT_OUT}</td>
    </>
  );
}
