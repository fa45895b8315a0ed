import './query.css';

import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { isAbort, messageOf } from '../../core/http.js';
import { countText, secondsText } from '../../format/numbers.js';
import { parameter, setParameters } from '../../core/route.js';
import { runSql } from '../../data/sql.js';
import { cellText, type SqlResult } from '../../data/sql-result.js';
import { Icon } from '../../widgets/icons.js';
import { zone } from '../../time/zones.js';
import { Editor, type EditorPlace } from '../../widgets/editor.js';
import { Grid, type GridCell } from '../../widgets/grid.js';
import { statementAt } from './statements.js';

/** Runs statements and shows their results. */
export function QueryScreen() {
  const text = useSignal(parameter('q'));
  const result = useSignal<{ readonly rows: SqlResult; readonly rowCount: number } | undefined>(undefined);
  const failure = useSignal('');
  const took = useSignal('');
  const abort = useRef<AbortController | undefined>(undefined);
  const isRunning = useSignal(false);
  const language = useRef([]).current;

  const run = async (statement: string): Promise<void> => {
    abort.current?.abort();
    const own = new AbortController();
    abort.current = own;
    const startMs = performance.now();
    isRunning.value = true;
    failure.value = '';
    try {
      const rows = await runSql(statement, { signal: own.signal }, (partial) => {
        result.value = { rows: partial, rowCount: partial.rowCount };
      });
      result.value = { rows, rowCount: rows.rowCount };
    } catch (error) {
      if (!isAbort(error)) failure.value = messageOf(error);
    }
    if (abort.current !== own) return;
    isRunning.value = false;
    took.value = secondsText((performance.now() - startMs) / 1000, 3);
  };
  const runAt = ({ text: all, cursor, from, to }: EditorPlace): boolean => {
    const statement = from === to ? statementAt(all, cursor)?.text : all.slice(from, to);
    if (statement === undefined) return true;
    setParameters({ q: all });
    void run(statement);
    return true;
  };
  useEffect(() => () => abort.current?.abort(), []);
  const shown = useComputed(() => result.value);
  return (
    <div class="screen query">
      <h1 class="visually-hidden">Query</h1>
      <Editor
        label="SQL statement"
        text={text.value}
        onChange={(changed) => (text.value = changed)}
        language={language}
        keys={[{ key: 'Mod-Enter', run: runAt }]}
        hint="SELECT * FROM my_table LIMIT 100"
      />
      <div class="row">
        <button type="button" class="primary" onClick={() => void run(text.value)}>
          <Icon name="play" /> Run
        </button>
        {isRunning.value && (
          <button type="button" onClick={() => abort.current?.abort()}>
            <Icon name="stop" /> Cancel
          </button>
        )}
        <span role="status">
          {shown.value === undefined ? '' : `${countText(shown.value.rowCount)} rows in ${took.value}`}
        </span>
      </div>
      {failure.value !== '' && (
        <p class="error" role="alert">
          {failure}
        </p>
      )}
      {shown.value !== undefined && <ResultGrid {...shown.value} />}
    </div>
  );
}

function ResultGrid({ rows, rowCount }: { readonly rows: SqlResult; readonly rowCount: number }) {
  const cell = (column: number, row: number): GridCell => {
    const value = rows.value(column, row);
    return { text: cellText(value, rows.columns[column], zone.value), isSpecial: value === null };
  };
  const columns = rows.columns.map(({ name, type, kind }) => {
    return { name, type, isNumber: kind === 'number' || kind === 'integer' };
  });
  return <Grid label="Rows" columns={columns} rowCount={rowCount} cell={cell} />;
}
