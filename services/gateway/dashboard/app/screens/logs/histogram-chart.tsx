import { useComputed, useSignal } from '@preact/signals';

import { counted } from '../../format/counted.js';
import { countText, secondsText } from '../../format/numbers.js';
import { civilOf, civilText } from '../../time/civil.js';
import { setRange } from '../../time/page-range.js';
import { zone } from '../../time/zones.js';
import { COUNTED_LEVELS, type CountedLevel, type Histogram, type HistogramBar } from './histogram-data.js';

const HEIGHT = 100;
/** Units of the drawing for each bar. */
const STEP = 10;

interface ChartProps {
  readonly histogram: Histogram;
  readonly isStale: boolean;
  /** Called with a level whose lines are searched for. */
  readonly onLevel: (level: CountedLevel) => void;
}

/** Numbers of lines over the range, by level. Dragging over it chooses a shorter range. */
export function HistogramChart({ histogram, isStale, onLevel }: ChartProps) {
  const { bars, highest, intervalMs, range, totals } = histogram;
  const drag = useSignal<{ readonly from: number; readonly to: number } | undefined>(undefined);
  const hovered = useSignal<number | undefined>(undefined);
  const hasTable = useSignal(false);
  const shareOf = (event: PointerEvent): number => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  const instantOf = (share: number): number => range.fromMs + share * (range.toMs - range.fromMs);
  const onMove = (event: PointerEvent): void => {
    const share = shareOf(event);
    hovered.value = Math.min(bars.length - 1, Math.floor((share * (range.toMs - range.fromMs)) / intervalMs));
    if (drag.value !== undefined) drag.value = { ...drag.value, to: share };
  };
  const onUp = (): void => {
    if (drag.value !== undefined && Math.abs(drag.value.to - drag.value.from) > 0.005) {
      const [fromMs, toMs] = [drag.value.from, drag.value.to].map(instantOf).sort((a, b) => a - b);
      setRange({ fromMs, toMs: Math.max(toMs, fromMs + 1) });
    }
    drag.value = undefined;
  };
  const caption = useComputed(() => (hovered.value === undefined ? undefined : bars[hovered.value]));
  const width = ((range.toMs - range.fromMs) / intervalMs) * STEP;
  return (
    <section class={isStale ? 'histogram stale' : 'histogram'} aria-label="Lines over time">
      <div
        class="histogram-bars"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.value = { from: shareOf(event), to: shareOf(event) };
        }}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onPointerCancel={() => (drag.value = undefined)}
        onPointerLeave={() => (hovered.value = undefined)}
      >
        <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={sentence(histogram)}>
          {bars.map((bar, i) => (
            <Bar key={i} bar={bar} left={i * STEP} highest={highest} />
          ))}
        </svg>
        {drag.value !== undefined && (
          <span
            class="histogram-drag"
            style={{
              left: `${Math.min(drag.value.from, drag.value.to) * 100}%`,
              width: `${Math.abs(drag.value.to - drag.value.from) * 100}%`,
            }}
          />
        )}
        <span class="histogram-high" aria-hidden="true">
          {highest > 0 && countText(highest)}
        </span>
      </div>
      <div class="row histogram-foot">
        <span class="dim histogram-caption">
          {caption.value === undefined ? `${secondsText(intervalMs / 1000)} per bar` : barText(caption.value)}
        </span>
        <span class="grow" />
        {COUNTED_LEVELS.filter((level) => totals.has(level)).map((level) => (
          <button
            key={level}
            type="button"
            class="plain legend"
            title={level === 'other' ? 'Lines without a level' : `Search for level=${level}`}
            disabled={level === 'other'}
            onClick={() => onLevel(level)}
          >
            <span class={`swatch level-${level}`} aria-hidden="true" /> {level} {countText(totals.get(level) ?? 0)}
          </button>
        ))}
        <button
          type="button"
          class="plain"
          aria-expanded={hasTable.value}
          onClick={() => (hasTable.value = !hasTable.value)}
        >
          {hasTable.value ? 'Hide table' : 'Show as table'}
        </button>
      </div>
      {hasTable.value && <HistogramTable histogram={histogram} />}
    </section>
  );
}

function Bar({ bar, left, highest }: { readonly bar: HistogramBar; readonly left: number; readonly highest: number }) {
  let top = HEIGHT;
  return (
    <g>
      {COUNTED_LEVELS.map((level) => {
        const count = bar.counts.get(level);
        if (count === undefined) return null;
        const height = (count / highest) * HEIGHT;
        top -= height;
        return <rect key={level} class={`level-${level}`} x={left + 1} y={top} width={STEP - 2} height={height} />;
      })}
    </g>
  );
}

function HistogramTable({ histogram: { bars, totals } }: { readonly histogram: Histogram }) {
  const levels = COUNTED_LEVELS.filter((level) => totals.has(level));
  return (
    <div class="histogram-table" tabIndex={0} role="region" aria-label="Lines by interval">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">From</th>
            {levels.map((level) => (
              <th key={level} scope="col" class="number">
                {level}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars
            .filter(({ total }) => total > 0)
            .map((bar) => (
              <tr key={bar.fromMs}>
                <th scope="row">{timeText(bar.fromMs)}</th>
                {levels.map((level) => (
                  <td key={level} class="number">
                    {countText(bar.counts.get(level) ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

function sentence({ total, range, totals }: Histogram): string {
  const parts = COUNTED_LEVELS.filter((level) => totals.has(level)).map((level) => `${level} ${totals.get(level)}`);
  const levels = parts.length === 0 ? '' : `: ${parts.join(', ')}`;
  return `${counted(total, 'line')} from ${timeText(range.fromMs)} to ${timeText(range.toMs)}${levels}`;
}

function barText({ fromMs, counts, total }: HistogramBar): string {
  const levels = COUNTED_LEVELS.filter((level) => counts.has(level));
  const parts = levels.map((level) => `${level} ${countText(counts.get(level) ?? 0)}`);
  return `${timeText(fromMs)}: ${total === 0 ? 'no lines' : parts.join(', ')}`;
}

function timeText(ms: number): string {
  return civilText(civilOf(Math.round(ms), zone.value), 3);
}
