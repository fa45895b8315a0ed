import type { PipelineLine } from '../../logql/line/pipeline-line.js';
import type { MetricSeries, Steps } from '../../logql/metric/series.js';
import { goFloatText } from '../../logql/units.js';
import { sampleSeconds } from './times.js';

/** Work of a query, for the statistics of its reply. */
export interface QueryWork {
  readonly lines: number;
  readonly bytes: number;
  readonly elapsedMs: number;
  readonly entries: number;
}

interface StreamEntries {
  readonly stream: Readonly<Record<string, string>>;
  readonly values: string[];
}

/** Collects lines by stream, as JSON. */
export class StreamsJson {
  readonly #isCategorized: boolean;
  readonly #streams = new Map<string, StreamEntries>();
  count = 0;

  /** @param isCategorized whether labels of lines are sent apart from those of streams. */
  constructor(isCategorized: boolean) {
    this.#isCategorized = isCategorized;
  }

  add(line: PipelineLine): void {
    const own: [string, string][] = [];
    const metadata: Record<string, string> = {};
    const parsed: Record<string, string> = {};
    line.labels.each((name, value, source) => {
      if (!this.#isCategorized || source === 'stream') own.push([name, value]);
      else if (source === 'metadata') metadata[name] = value;
      else parsed[name] = value;
    });
    this.addEntry(own, line, this.#isCategorized ? categories(metadata, parsed) : undefined);
  }

  /** Adds a line of a stream. @param own its labels that are not those of the stream. */
  addEntry(
    labels: [name: string, value: string][],
    { timeNs, text }: Pick<PipelineLine, 'timeNs' | 'text'>,
    own?: Readonly<Record<string, unknown>>,
  ): void {
    const entry = [`"${timeNs}"`, JSON.stringify(text)];
    if (own !== undefined) entry.push(JSON.stringify(own));
    this.#streamOf(labels).values.push(`[${entry.join(',')}]`);
    this.count++;
  }

  /** Returns the list of streams. */
  text(): string {
    const streams = [...this.#streams.values()].map(({ stream, values }) => {
      return `{"stream":${JSON.stringify(stream)},"values":[${values.join(',')}]}`;
    });
    return `[${streams.join(',')}]`;
  }

  #streamOf(labels: [string, string][]): StreamEntries {
    labels.sort(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify(labels);
    let stream = this.#streams.get(key);
    if (stream === undefined) this.#streams.set(key, (stream = { stream: Object.fromEntries(labels), values: [] }));
    return stream;
  }
}

function categories(metadata: Record<string, string>, parsed: Record<string, string>): Record<string, unknown> {
  return {
    ...(Object.keys(metadata).length > 0 && { structuredMetadata: metadata }),
    ...(Object.keys(parsed).length > 0 && { parsed }),
  };
}

/** Returns series as a matrix. */
export function matrixJson(series: readonly MetricSeries[], { startNs, stepNs }: Steps): string {
  const parts = series.map(({ labels, values, present }) => {
    const samples: string[] = [];
    for (let step = 0; step < values.length; step++) {
      if (present[step] === 1) samples.push(sampleJson(startNs + BigInt(step) * stepNs, values[step]));
    }
    return `{"metric":${JSON.stringify(Object.fromEntries(labels))},"values":[${samples.join(',')}]}`;
  });
  return `[${parts.join(',')}]`;
}

/** Returns the first values of series as a vector. */
export function vectorJson(series: readonly MetricSeries[], atNs: bigint): string {
  const parts = series.map(({ labels, values }) => {
    return `{"metric":${JSON.stringify(Object.fromEntries(labels))},"value":${sampleJson(atNs, values[0])}}`;
  });
  return `[${parts.join(',')}]`;
}

/** Returns a sample: seconds, and the value as a text. */
export function sampleJson(atNs: bigint, value: number): string {
  return `[${sampleSeconds(atNs)},"${goFloatText(value)}"]`;
}

/** Returns the envelope of a result. */
export function resultJson(
  { type, result, flags = [] }: { readonly type: string; readonly result: string; readonly flags?: readonly string[] },
  work: QueryWork,
): string {
  const encoding = flags.length === 0 ? '' : `,"encodingFlags":${JSON.stringify(flags)}`;
  const stats = JSON.stringify(statistics(work));
  return `{"status":"success","data":{"resultType":"${type}","result":${result}${encoding},"stats":${stats}}}`;
}

function statistics({ lines, bytes, elapsedMs, entries }: QueryWork): unknown {
  const seconds = Math.max(elapsedMs, 1) / 1_000;
  const store = { totalChunksRef: 0, totalChunksDownloaded: 0, chunksDownloadTime: 0, chunk: {} };
  return {
    summary: {
      bytesProcessedPerSecond: Math.round(bytes / seconds),
      linesProcessedPerSecond: Math.round(lines / seconds),
      totalBytesProcessed: bytes,
      totalLinesProcessed: lines,
      execTime: elapsedMs / 1_000,
      queueTime: 0,
      subqueries: 0,
      totalEntriesReturned: entries,
      splits: 0,
      shards: 0,
      totalPostFilterLines: entries,
      totalStructuredMetadataBytesProcessed: 0,
    },
    querier: { store },
    ingester: { totalReached: 0, totalChunksMatched: 0, totalBatches: 0, totalLinesSent: 0, store },
    cache: {},
  };
}
