import { useMemo, useRef } from 'preact/hooks';

import { countText, exactText } from '../../format/numbers.js';
import { cellText } from '../../data/sql-result.js';
import { zone } from '../../time/zones.js';
import { CopyButton } from '../../widgets/copy-button.js';
import type { QueryOutcome } from './run.js';

const ROWS_SHOWN_MAX = 1000;
const SERIES_SHOWN_MAX = 200;
/** A longer text would make the page slow. */
const UNITS_MAX = 2_000_000;

/** The first rows or series of a result as JSON. */
export function ResultJson({ outcome }: { readonly outcome: Extract<QueryOutcome, { kind: 'rows' | 'series' }> }) {
  const count = outcome.kind === 'rows' ? outcome.rowCount : outcome.result.series.length;
  const box = useRef<HTMLPreElement>(null);
  const { text, shown } = useMemo(() => jsonOf(outcome), [outcome, zone.value]);
  return (
    <>
      <div class="row">
        <CopyButton text={text} shownIn={box} />
        {shown < count && (
          <span class="dim">
            The first {countText(shown)} of {countText(count)} are shown.
          </span>
        )}
      </div>
      <pre ref={box} class="result-json" tabIndex={0} aria-label="Result as JSON">
        {text}
      </pre>
    </>
  );
}

/** Returns the first items of a result as JSON, and how many there are in it. */
function jsonOf(outcome: Extract<QueryOutcome, { kind: 'rows' | 'series' }>): { text: string; shown: number } {
  const { items, max } = outcome.kind === 'rows' ? rowItems(outcome) : seriesItems(outcome);
  const texts: string[] = [];
  let units = 0;
  for (let i = 0; i < max && units < UNITS_MAX; i++) {
    const text = JSON.stringify(items(i), null, 2);
    // One item is always shown.
    if (i > 0 && units + text.length > UNITS_MAX) break;
    texts.push(text);
    units += text.length;
  }
  return { text: `[${texts.join(', ')}]`, shown: texts.length };
}

interface JsonItems {
  readonly items: (index: number) => unknown;
  readonly max: number;
}

function seriesItems({ result: { series } }: Extract<QueryOutcome, { kind: 'series' }>): JsonItems {
  const items = (index: number): unknown => {
    const { labels, times, values } = series[index];
    return { labels, values: Array.from(times, (time, i) => [time, exactText(values[i])]) };
  };
  return { items, max: Math.min(series.length, SERIES_SHOWN_MAX) };
}

function rowItems({ rows, rowCount }: Extract<QueryOutcome, { kind: 'rows' }>): JsonItems {
  const items = (row: number): unknown =>
    Object.fromEntries(
      rows.columns.map((column, i) => {
        const value = rows.value(i, row);
        const isPlain =
          value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
        return [column.name, isPlain ? value : cellText(value, column, zone.value)];
      }),
    );
  return { items, max: Math.min(rowCount, ROWS_SHOWN_MAX) };
}
