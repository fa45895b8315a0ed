import './plan.css';

import { useSignal } from '@preact/signals';

import { isAbort, messageOf } from '../../../core/http.js';
import { queryInstant, queryRange, type PromStats } from '../../../data/promql.js';
import { useLoaded } from '../../../data/use-loaded.js';
import { counted } from '../../../format/counted.js';
import { countText, exactText, secondsText } from '../../../format/numbers.js';
import { nanosecondText } from '../../../time/nanosecond-text.js';
import type { TimeRange } from '../../../time/range.js';
import { zone } from '../../../time/zones.js';
import { FailureText } from '../../../widgets/failure-text.js';
import { evaluatePart, loadParts, type PartResult } from './part-result.js';
import type { QueryPart } from './promql-parts.js';

/** A query in PromQL that was run. @see QueryOutcome */
export interface PromqlPlanProps {
  readonly query: string;
  readonly range: TimeRange;
  /** 0: the query was evaluated at the end of the range only. */
  readonly stepSeconds: number;
}

const PARTS_MAX = 100;
const LABELS_MAX = 8;

/** The parts of a query, each with what it returns by itself at the end of the range. */
export function PromqlPlan({ query, range, stepSeconds }: PromqlPlanProps) {
  const { value: root, failure } = useLoaded((signal) => loadParts(query, signal), [query]);
  const at = nanosecondText(BigInt(range.toMs) * 1_000_000n, zone.value, 3);
  const count = root === undefined ? 0 : countParts(root);
  return (
    <div class="plan stack">
      <div class="row">
        <Measurement
          key={`${query} ${range.fromMs} ${range.toMs} ${stepSeconds}`}
          query={query}
          range={range}
          stepSeconds={stepSeconds}
        />
        <span role="status" class="dim">
          {root === undefined ? '' : `${counted(count, 'part')}, evaluated at ${at}`}
        </span>
      </div>
      <FailureText text={failure} />
      {root !== undefined && count > PARTS_MAX && (
        <p class="dim">A query of more than {PARTS_MAX} parts is not evaluated by parts.</p>
      )}
      {root !== undefined && (
        <section aria-label="Parts of the query">
          <ol class="plan-tree">
            <Part key={root.text} part={root} atMs={range.toMs} isEvaluated={count <= PARTS_MAX} />
          </ol>
        </section>
      )}
    </div>
  );
}

function countParts({ children }: QueryPart): number {
  return children.reduce((sum, child) => sum + countParts(child), 1);
}

interface PartProps {
  readonly part: QueryPart;
  readonly atMs: number;
  readonly isEvaluated: boolean;
}

function Part({ part, atMs, isEvaluated }: PartProps) {
  const { title, text, children } = part;
  const { value, failure, isLoading } = useLoaded(
    isEvaluated ? (signal) => evaluatePart(part, atMs, signal) : undefined,
    [text, atMs],
  );
  return (
    <li>
      <div class="plan-node">
        <code title={text}>
          <bdi>{title}</bdi>
        </code>
        {isLoading && value === undefined && <span class="dim">…</span>}
        {failure !== '' && (
          <span class="bad">
            <bdi>{failure}</bdi>
          </span>
        )}
        {value !== undefined && failure === '' && <Size result={value} />}
      </div>
      {value !== undefined && failure === '' && <Sample result={value} />}
      {children.length > 0 && (
        <ol>
          {children.map((child, i) => (
            <Part key={i} part={child} atMs={atMs} isEvaluated={isEvaluated} />
          ))}
        </ol>
      )}
    </li>
  );
}

function Size({ result: { value, seriesCount, samplesRead, seconds } }: { readonly result: PartResult }) {
  return (
    <>
      {value === undefined ? (
        <span class={seriesCount === 0 ? 'warn' : ''}>{`${countText(seriesCount)} series`}</span>
      ) : (
        <span>{exactText(value)}</span>
      )}
      {samplesRead !== undefined && <span class="dim">{counted(samplesRead, 'sample')} read</span>}
      {seconds !== undefined && <span class="dim">{secondsText(seconds, 3)}</span>}
    </>
  );
}

function Sample({ result: { labels, isPartial, sample } }: { readonly result: PartResult }) {
  if (sample === undefined) return null;
  const shown = labels
    .slice(0, LABELS_MAX)
    .map(([label, count]) => `${label} ${isPartial ? '≥ ' : ''}${countText(count)}`);
  const left = labels.length - shown.length;
  return (
    <dl class="plan-facts">
      {labels.length > 0 && (
        <div>
          <dt>Labels and their values</dt>
          <dd>
            <bdi>{shown.join(', ') + (left > 0 ? ` and ${left} more` : '')}</bdi>
          </dd>
        </div>
      )}
      <div>
        <dt>First</dt>
        <dd>
          <bdi>{sample.series}</bdi> {sample.value === undefined ? '' : exactText(sample.value)}
        </dd>
      </div>
    </dl>
  );
}

/** Runs the whole query once more, only when the user wants that, and shows what it read. */
function Measurement({ query, range, stepSeconds }: PromqlPlanProps) {
  const stats = useSignal<PromStats | undefined>(undefined);
  const failure = useSignal('');
  const isRunning = useSignal(false);
  const run = async (): Promise<void> => {
    isRunning.value = true;
    failure.value = '';
    // The samples are not needed, what the server counts is.
    const options = { limit: 1, hasStats: true };
    try {
      const result = await (stepSeconds === 0
        ? queryInstant(query, range.toMs, options)
        : queryRange(query, range, stepSeconds, options));
      stats.value = result.stats;
    } catch (error) {
      if (!isAbort(error)) failure.value = messageOf(error);
    }
    isRunning.value = false;
  };
  return (
    <>
      <button type="button" disabled={isRunning.value} onClick={() => void run()}>
        Run it and measure
      </button>
      {stats.value !== undefined && <span role="status">{statsText(stats.value)}</span>}
      {failure.value !== '' && (
        <span class="bad" role="alert">
          <bdi>{failure}</bdi>
        </span>
      )}
    </>
  );
}

const TIMINGS: Readonly<Record<string, string>> = { execQueueTime: 'waiting', evalTotalTime: 'evaluating' };

function statsText({ samples, timings }: PromStats): string {
  const { totalQueryableSamples, samplesRead, peakSamples } = samples;
  const counts = [
    `${countText(totalQueryableSamples)} samples at all steps`,
    `${countText(samplesRead)} read`,
    `at most ${countText(peakSamples)} in memory`,
  ];
  const times = Object.entries(TIMINGS).flatMap(([name, title]) => {
    const seconds = timings[name];
    return seconds === undefined ? [] : [`${title} ${secondsText(seconds, 3)}`];
  });
  return `${counts.join(', ')}; ${times.join(', ')}`;
}
