import { useSignal } from '@preact/signals';

import { linkTo, openScreen } from '../../../core/route.js';
import { counted } from '../../../format/counted.js';
import { countText, exactText, valueText, type ValueUnit } from '../../../format/numbers.js';
import { zone } from '../../../time/zones.js';
import { instantText } from '../../../time/instant-text.js';
import { pairText } from '../series.js';
import { exemplarTrace, type ChartExemplar, type ExemplarChoice } from './exemplar-choice.js';

interface ExemplarListProps {
  readonly choice: ExemplarChoice;
  readonly unit: ValueUnit;
}

/** The exemplars of a chart as a table, for the keyboard and for reading aloud. */
export function ExemplarList({ choice: { shown, totalCount }, unit }: ExemplarListProps) {
  const isOpen = useSignal(false);
  if (totalCount === 0) return null;
  return (
    <details class="chart-exemplars" onToggle={({ currentTarget: { open } }) => (isOpen.value = open)}>
      <summary>
        {shown.length < totalCount
          ? `${countText(shown.length)} of ${counted(totalCount, 'exemplar')}: the greatest of each interval`
          : counted(totalCount, 'exemplar')}
      </summary>
      {isOpen.value && (
        <div class="exemplar-table" tabIndex={0} role="region" aria-label="Exemplars">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col" class="number">
                  Value
                </th>
                <th scope="col">Trace</th>
                <th scope="col">Labels</th>
                <th scope="col">Series</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((exemplar, i) => (
                <ExemplarRow key={i} exemplar={exemplar} unit={unit} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

function ExemplarRow({ exemplar, unit }: { readonly exemplar: ChartExemplar; readonly unit: ValueUnit }) {
  const { timeMs, value, labels, series } = exemplar;
  const trace = exemplarTrace(exemplar);
  return (
    <tr>
      <td>{instantText(timeMs, zone.value)}</td>
      <td class="number" title={exactText(value)}>
        {exemplarValue(exemplar, unit)}
      </td>
      <td>{trace !== undefined && <a href={traceLink(trace)}>Open trace {trace.slice(0, 8)}…</a>}</td>
      <td>
        <bdi>{pairsText(labels)}</bdi>
      </td>
      <td>
        <bdi>{pairsText(series)}</bdi>
      </td>
    </tr>
  );
}

/** Returns the value of an exemplar: in the unit of the chart only if it belongs on its axis. */
export function exemplarValue({ value, isComparable }: ChartExemplar, unit: ValueUnit): string {
  return valueText(value, isComparable ? unit : 'short');
}

const PAIRS_LENGTH_MAX = 300;

/** Returns labels as one text, cut if it is long. */
export function pairsText(labels: Readonly<Record<string, string>>): string {
  const text = Object.entries(labels)
    .map(([name, value]) => pairText(name, value))
    .join(' ');
  return text.length > PAIRS_LENGTH_MAX ? `${text.slice(0, PAIRS_LENGTH_MAX)}…` : text;
}

function traceLink(id: string): string {
  return linkTo('traces', { id });
}

/** Opens the trace of an exemplar. @returns false if there is none. */
export function openExemplar(exemplar: ChartExemplar | undefined): boolean {
  const id = exemplar && exemplarTrace(exemplar);
  if (id !== undefined) openScreen('traces', { id });
  return id !== undefined;
}
