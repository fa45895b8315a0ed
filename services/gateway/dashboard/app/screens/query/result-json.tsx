import { useMemo } from 'preact/hooks';

import { exactText } from '../../format/numbers.js';
import { cellText } from '../../data/sql-result.js';
import { zone } from '../../time/zones.js';
import type { QueryOutcome } from './run.js';

const ROWS_SHOWN_MAX = 1000;
const SERIES_SHOWN_MAX = 200;

/** The first rows or series of a result as JSON. */
export function ResultJson({ outcome }: { readonly outcome: Extract<QueryOutcome, { kind: 'rows' | 'series' }> }) {
  const count = outcome.kind === 'rows' ? outcome.rowCount : outcome.result.series.length;
  const text = useMemo(() => jsonOf(outcome), [outcome, zone.value]);
  const isCut = count > (outcome.kind === 'rows' ? ROWS_SHOWN_MAX : SERIES_SHOWN_MAX);
  return (
    <>
      <div class="row">
        <button type="button" onClick={() => void navigator.clipboard.writeText(text)}>
          Copy
        </button>
        {isCut && <span class="dim">The first of {count} are shown.</span>}
      </div>
      <pre class="result-json" tabIndex={0} aria-label="Result as JSON">
        {text}
      </pre>
    </>
  );
}

function jsonOf(outcome: Extract<QueryOutcome, { kind: 'rows' | 'series' }>): string {
  if (outcome.kind === 'series') {
    const shown = outcome.result.series.slice(0, SERIES_SHOWN_MAX).map(({ labels, times, values }) => ({
      labels,
      values: Array.from(times, (time, i) => [time, exactText(values[i])]),
    }));
    return JSON.stringify(shown, null, 1);
  }
  const { rows, rowCount } = outcome;
  const shown = Array.from({ length: Math.min(rowCount, ROWS_SHOWN_MAX) }, (_, row) =>
    Object.fromEntries(
      rows.columns.map((column, i) => {
        const value = rows.value(i, row);
        const isPlain =
          value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
        return [column.name, isPlain ? value : cellText(value, column, zone.value)];
      }),
    ),
  );
  return JSON.stringify(shown, null, 2);
}
