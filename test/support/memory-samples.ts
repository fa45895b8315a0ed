import { Admission } from '#services/querier/run/admission';
import { MemoryWatch } from '#services/querier/run/memory-watch';
import { Processes } from '#services/querier/run/processes';
import type { PromExtras } from '#services/querier/rpc/prom/extras';
import { prom } from '#services/querier/rpc/prom';
import { Evaluation, type PromLimits } from '#services/querier/rpc/prom/evaluation';
import { compileMatcher } from '#services/querier/series/matcher';
import { compareBytes, type Labels } from '#services/querier/series/labels';
import type { SampleSeries } from '#services/querier/promql/runtime/samples';
import type {
  DatabaseSamples,
  SampleSources,
  SeriesQuery,
  StoredSeries,
} from '#services/querier/samples/sample-source';
import { systemClock } from '#shared/clock/clock';
import { callError, type Call } from '#shared/contracts/call';
import type { Database } from '#shared/contracts/gen/common';
import type { QuerierService } from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { metricNames } from '#shared/schema/metric-table';

import { partialQuerier } from './partial-querier.js';
import { Gate } from './gate.js';
import { memorySource } from './promql-source.js';

export type MemoryDatabases = Readonly<Record<string, readonly SampleSeries[]>>;

/** Databases of series that are all in memory. */
export class MemorySamples implements SampleSources {
  /** How many are open. */
  openCount = 0;
  /** Whether reads of samples wait until their call ends. */
  isStuck = false;
  /** Reached when a read is stuck. */
  readonly stuck = new Gate();
  readonly #databases: MemoryDatabases;
  #stateCount = 0;

  constructor(databases: MemoryDatabases) {
    this.#databases = databases;
  }

  open(database: string, call: Call): Promise<DatabaseSamples> {
    if (!(database in this.#databases)) return Promise.reject(unknown(database));
    const all = this.#databases[database];
    const source = memorySource(all);
    const labelsOf = (query: SeriesQuery): Labels[] =>
      all.filter((one) => fits(one, query)).map(({ labels }) => labels);
    const select: DatabaseSamples['select'] = async (matchers, fromMs, toMs) => {
      if (this.isStuck) {
        void this.stuck.pass();
        await ended(call);
      }
      return source.select(matchers, fromMs, toMs);
    };
    this.openCount++;
    return Promise.resolve({
      select,
      selectAround: select,
      stored: (matchers, fromMs, toMs) => storedOf(select(matchers, fromMs, toMs)),
      // Never equal: results of these queries are not cached.
      state: () =>
        Promise.resolve(new Map([[this.#stateCount++, { schemaVersion: 1, regions: [], oldestMs: -Infinity }]])),
      labelNames: (query) => Promise.resolve(sorted(labelsOf(query).flatMap(({ names }) => names))),
      labelValues: (name, query) => Promise.resolve(sorted(labelsOf(query).map((labels) => labels.get(name)))),
      series: (query) => Promise.resolve(labelsOf(query)),
      facts: (limit) =>
        Promise.resolve({
          ...{ seriesCount: all.length, labelPairCount: 0 },
          seriesCountByMetricName: [{ name: 'up', value: all.length }].slice(0, limit),
          ...{ labelValueCountByLabelName: [], memoryInBytesByLabelName: [], seriesCountByLabelValuePair: [] },
        }),
      close: () => void this.openCount--,
    });
  }
}

/** Without histograms. */
async function* storedOf(selected: Promise<readonly SampleSeries[]>): AsyncIterable<StoredSeries> {
  for (const { labels, times, values } of await selected) {
    const piece = { times, values, missing: undefined, histograms: undefined, starts: undefined, isAscending: true };
    if (times.length > 0) yield { labels, slice: piece };
  }
}

/** Rejects when the call is given up. */
function ended({ signal }: Call): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(callError(signal))));
}

function fits({ labels, times }: SampleSeries, { matcherSets, fromMs, toMs }: SeriesQuery): boolean {
  if (times[0] > toMs || times[times.length - 1] < fromMs) return false;
  if (matcherSets.length === 0) return true;
  return matcherSets.some((set) => set.every((matcher) => compileMatcher(matcher)(labels.get(matcher.name))));
}

function sorted(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '').sort(compareBytes);
}

function unknown(database: string): AlmanacError {
  return new AlmanacError('database_not_found', `Database not found: ${database}`);
}

/** Of databases that keep nothing but samples. */
const NO_EXTRAS: PromExtras = {
  metadata: () => Promise.resolve(new Map()),
  exemplars: () => Promise.resolve([]),
};

export interface MemoryQuerierOptions {
  readonly extras?: PromExtras;
  readonly limits?: Partial<PromLimits>;
  readonly concurrent?: number;
}

/** The PromQL part of a querier over series in memory. */
export function memoryQuerier(
  sources: SampleSources,
  names: readonly string[],
  options: MemoryQuerierOptions = {},
): QuerierService {
  const clock = systemClock;
  const found = (name: string): Database => ({ databaseId: 1, name, options: {} });
  const catalog: Pick<Catalog, 'database' | 'databases'> = {
    database: (name) => (names.includes(name) ? Promise.resolve(found(name)) : Promise.reject(unknown(name))),
    databases: () => Promise.resolve(names.map(found)),
  };
  const limits = {
    lookbackMs: 300_000,
    timeoutMs: 60_000,
    samplesMax: 50_000_000,
    isExperimental: true,
    resultCacheBytes: 0,
    names: metricNames({ naming: 'almanac', defaultColumnPrefix: '' }),
  };
  const promLimits = { ...limits, ...options.limits };
  const methods = prom({
    evaluation: new Evaluation({ sources, clock, promLimits }),
    extras: options.extras ?? NO_EXTRAS,
    catalog,
    clock,
    metrics: {
      statementEnded: () => undefined,
      segmentRead: () => undefined,
      rowsSent: () => undefined,
      queryRun: () => undefined,
      scanned: () => undefined,
      columnsRead: () => undefined,
      promEnded: () => undefined,
      flowEnded: () => undefined,
    },
    admission: new Admission({ concurrent: options.concurrent ?? 4, queue: 8, clock }),
    processes: new Processes({ clock: systemClock, addr: () => 'test', nodeId: () => 0 }),
    memory: new MemoryWatch({ clock, kinds: [] }),
    promLimits,
  });
  return partialQuerier(methods);
}
