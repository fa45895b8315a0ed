import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { cellText, type CellValue, type SqlColumn, type SqlResult } from '../../data/sql-result.js';
import { countText } from '../../format/numbers.js';
import { zone } from '../../time/zones.js';
import { columnFacts, DISTINCT_MAX, type ColumnFacts } from './column-facts.js';

/** What the panel describes, and which columns are not shown. */
export interface ColumnsPanelProps {
  readonly rows: SqlResult;
  readonly rowCount: number;
  /** Places of the columns that are not shown. */
  readonly hidden: ReadonlySet<number>;
  readonly onHide: (hidden: ReadonlySet<number>) => void;
  /** Places of the columns that stay at the left. */
  readonly pinned: ReadonlySet<number>;
  readonly onPin: (pinned: ReadonlySet<number>) => void;
}

/** Columns that are described, one after the other. */
const DESCRIBED_MAX = 200;
const TEXT_SHOWN = 40;

/** The columns of a result: which are shown, which of them stay at the left, and what their values are like. */
export function ColumnsPanel({ rows, rowCount, hidden, onHide, pinned, onPin }: ColumnsPanelProps) {
  const facts = useSignal<readonly ColumnFacts[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    facts.value = [];
    void (async () => {
      for (let column = 0; column < Math.min(rows.columns.length, DESCRIBED_MAX); column++) {
        facts.value = [...facts.peek(), await columnFacts(rows, rowCount, column, abort.signal)];
      }
    })().catch(() => undefined);
    return () => abort.abort();
  }, [rows, rowCount]);
  return (
    <div class="columns-panel" role="region" aria-label="Columns" tabIndex={0}>
      <table class="plain">
        <thead>
          <tr>
            {['Shown', 'Pinned', 'Column', 'Type', 'Nulls', 'Different', 'Least', 'Greatest', 'Values'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.columns.map((column, place) => (
            <tr key={place}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Show ${column.name}`}
                  checked={!hidden.has(place)}
                  onChange={() => onHide(toggled(hidden, place))}
                />
              </td>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Pin ${column.name}`}
                  checked={pinned.has(place)}
                  onChange={() => onPin(toggled(pinned, place))}
                />
              </td>
              <th scope="row">
                <bdi>{column.name}</bdi>
              </th>
              <td>{column.type}</td>
              <Facts column={column} facts={facts.value.at(place)} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function toggled(places: ReadonlySet<number>, place: number): ReadonlySet<number> {
  const next = new Set(places);
  if (!next.delete(place)) next.add(place);
  return next;
}

function Facts({ column, facts }: { readonly column: SqlColumn; readonly facts: ColumnFacts | undefined }) {
  if (facts === undefined) return <td colSpan={5}>…</td>;
  const { nullCount, distinctCount, least, greatest, bins } = facts;
  return (
    <>
      <td class="number">{countText(nullCount)}</td>
      <td class="number">
        {distinctCount === undefined ? `over ${countText(DISTINCT_MAX)}` : countText(distinctCount)}
      </td>
      <td>
        <Value value={least} column={column} />
      </td>
      <td>
        <Value value={greatest} column={column} />
      </td>
      <td>{bins.length > 0 && <Bins bins={bins} />}</td>
    </>
  );
}

function Value({ value, column }: { readonly value: CellValue; readonly column: SqlColumn }) {
  if (value === null) return <span class="dim">none</span>;
  const text = column.kind === 'binary' ? String(value) : cellText(value, column, zone.value);
  return <bdi title={text.slice(0, 1000)}>{text.length > TEXT_SHOWN ? `${text.slice(0, TEXT_SHOWN)}…` : text}</bdi>;
}

const [BAR_PX, BARS_PX] = [5, 24];

/** A small histogram; texts beside it say the same to those who do not see it. */
function Bins({ bins }: { readonly bins: readonly number[] }) {
  const most = Math.max(...bins);
  const fullest = bins.indexOf(most) + 1;
  const label = `Most values, ${countText(most)}, are in part ${fullest} of ${bins.length} between least and greatest`;
  return (
    <svg class="bins" role="img" aria-label={label} width={bins.length * BAR_PX} height={BARS_PX}>
      {bins.map((count, i) => {
        const height = count === 0 ? 0 : Math.max(1, (count / most) * BARS_PX);
        return <rect key={i} x={i * BAR_PX} y={BARS_PX - height} width={BAR_PX - 1} height={height} />;
      })}
    </svg>
  );
}
