import { linkTo, parameters } from '../../core/route.js';
import { counted } from '../../format/counted.js';
import { civilOf, civilText } from '../../time/civil.js';
import { zone } from '../../time/zones.js';
import { microsecondText } from './duration.js';
import type { TraceSummary } from './trace-summary.js';
import { openTrace } from './traces-state.js';

const [WIDTH, HEIGHT] = [1000, 120];
const MARGIN = 12;

/** The durations of traces over time; the table below it has the same traces. */
export function ScatterPlot({ traces }: { readonly traces: readonly TraceSummary[] }) {
  const starts = traces.map(({ startUs }) => startUs);
  const [first, last] = [Math.min(...starts), Math.max(...starts)];
  const longest = Math.max(...traces.map(({ durationUs }) => durationUs), 1);
  const failed = traces.filter(({ errorCount }) => errorCount > 0).length;
  const label = `${counted(traces.length, 'trace')} from ${timeText(first)} to ${timeText(last)}, the longest ${microsecondText(longest)}, ${failed} with errors`;
  return (
    <figure class="scatter">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <line x1={0} y1={HEIGHT - 1} x2={WIDTH} y2={HEIGHT - 1} />
      </svg>
      <div class="scatter-points" aria-hidden="true">
        {traces.map((trace) => {
          const share = last === first ? 0.5 : (trace.startUs - first) / (last - first);
          return (
            <a
              key={trace.traceId}
              tabIndex={-1}
              class={trace.errorCount > 0 ? 'point failed' : 'point'}
              href={linkTo('traces', { ...Object.fromEntries(parameters.value), id: trace.traceId })}
              title={`${trace.service} ${trace.operation}\n${microsecondText(trace.durationUs)}, ${counted(trace.spanCount, 'span')}`}
              onClick={(event) => {
                event.preventDefault();
                openTrace(trace.traceId);
              }}
              style={{
                left: `calc(${MARGIN}px + (100% - ${2 * MARGIN}px) * ${share})`,
                bottom: `${(trace.durationUs / longest) * 82 + 4}%`,
                width: `${sizePx(trace)}px`,
                height: `${sizePx(trace)}px`,
              }}
            />
          );
        })}
      </div>
      <figcaption class="row dim">
        <span>{timeText(first)}</span>
        <span class="grow" />
        <span>{timeText(last)}</span>
      </figcaption>
      <span class="scatter-high dim" aria-hidden="true">
        {microsecondText(longest)}
      </span>
    </figure>
  );
}

/** Larger traces have larger points. */
function sizePx({ spanCount }: TraceSummary): number {
  return Math.min(22, 8 + Math.round(Math.log2(spanCount + 1)));
}

function timeText(us: number): string {
  return civilText(civilOf(Math.floor(us / 1000), zone.value), 3);
}
