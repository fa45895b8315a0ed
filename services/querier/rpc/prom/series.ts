import type { Call } from '#shared/contracts/call';
import type { PromSeriesRequest } from '#shared/contracts/gen/querier';
import { mayAccess } from '#shared/contracts/rights';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import { type LabelMatcher, matchesEmpty } from '../../series/matcher.js';
import { compareBytes, compareLabels, type Labels } from '../../series/labels.js';
import { parseQuery, type Dialect, parseSelector } from '../../promql/syntax/parse.js';
import type { DatabaseSamples, SeriesFacts, SeriesQuery } from '../../samples/sample-source.js';
import { DATABASE_LABELS, type SessionDatabases } from './databases.js';
import { applyLimit, envelope, jsonArray, TRUNCATED_WARNING } from './envelope.js';
import type { PromExtras } from './extras.js';
import { floatText, labelSetJson, timeText } from './json.js';
import { selectorsOf } from '../../promql/syntax/selectors.js';

/** Sources of series responses. */
export interface SeriesContext {
  readonly databases: SessionDatabases;
  readonly catalog: Pick<Catalog, 'databases'>;
  readonly extras: PromExtras;
  readonly dialect: Dialect;
  readonly call: Call;
}

type MatcherSets = readonly (readonly LabelMatcher[])[];

/** Labels whose values are the names of databases. */
const NAMING_LABELS: ReadonlySet<string> = new Set([...DATABASE_LABELS, 'x_greptime_database', 'x_almanac_database']);

/** Returns the response to a request about series. @throws `invalid_arguments` for an unknown kind. */
export async function seriesResponse(request: PromSeriesRequest, context: SeriesContext): Promise<Iterable<string>> {
  switch (request.kind) {
    case 'labels':
      return textsResponse(request, context, (samples, query) => samples.labelNames(query));
    case 'label_values':
      if (NAMING_LABELS.has(request.name)) return databasesResponse(request, context);
      return textsResponse(request, context, (samples, query) => samples.labelValues(request.name, query));
    case 'series':
      return labelSetsResponse(request, context);
    case 'facts':
      return factsResponse(request, context);
    case 'metadata':
      return metadataResponse(request, context);
    case 'exemplars':
      return exemplarsResponse(request, context);
    default:
      throw new AlmanacError('invalid_arguments', `unknown kind of series request "${request.kind}"`);
  }
}

async function textsResponse(
  request: PromSeriesRequest,
  context: SeriesContext,
  read: (samples: DatabaseSamples, query: SeriesQuery) => Promise<readonly string[]>,
): Promise<Iterable<string>> {
  const sets = parseMatches(request.matches, context.dialect);
  const found = await readDatabases(request, sets, context, read);
  const texts = found.length === 1 ? found[0] : [...new Set(found.flat())].sort(compareBytes);
  return limitedResponse(texts, (text) => JSON.stringify(text), request, context);
}

async function labelSetsResponse(request: PromSeriesRequest, context: SeriesContext): Promise<Iterable<string>> {
  const sets = parseMatches(request.matches, context.dialect);
  const found = await readDatabases(request, sets, context, (samples, query) => samples.series(query));
  return limitedResponse(found.length === 1 ? found[0] : merged(found), labelSetJson, request, context);
}

function merged(found: readonly (readonly Labels[])[]): readonly Labels[] {
  const byKey = new Map<string, Labels>(found.flat().map((labels) => [labels.key, labels]));
  return [...byKey.values()].sort(compareLabels);
}

/** Returns the names of the databases that the caller may read; with selectors, of those with a matching series. */
async function databasesResponse(request: PromSeriesRequest, context: SeriesContext): Promise<Iterable<string>> {
  const { catalog, databases, dialect, call } = context;
  const sets = parseMatches(request.matches, dialect).map((matchers) => databases.resolveDatabase(matchers).matchers);
  const names = (await catalog.databases(call))
    .map(({ name }) => name)
    .filter((name) => mayAccess(call.rights, 'read', name))
    .sort(compareBytes);
  if (sets.length === 0) return limitedResponse(names, (name) => JSON.stringify(name), request, context);
  const query = { matcherSets: sets, fromMs: request.fromMs, toMs: request.toMs };
  const holding: string[] = [];
  for (const name of names) {
    const series = await databases.read(name, (samples) => samples.series(query));
    if (series !== undefined && series.length > 0) holding.push(name);
  }
  return limitedResponse(holding, (name) => JSON.stringify(name), request, context);
}

/** Reads from each database that the selectors name. */
async function readDatabases<T>(
  { database, fromMs, toMs }: PromSeriesRequest,
  sets: MatcherSets,
  { databases }: SeriesContext,
  read: (samples: DatabaseSamples, query: SeriesQuery) => Promise<T>,
): Promise<T[]> {
  const found: T[] = [];
  for (const [name, matcherSets] of setsByDatabase(database, sets, databases)) {
    const answer = await databases.read(name, (samples) => read(samples, { matcherSets, fromMs, toMs }));
    if (answer !== undefined) found.push(answer);
  }
  return found;
}

function setsByDatabase(session: string, sets: MatcherSets, databases: SessionDatabases): Map<string, MatcherSets> {
  if (sets.length === 0) return new Map([[session, []]]);
  const byDatabase = new Map<string, (readonly LabelMatcher[])[]>();
  for (const { database, matchers } of sets.map((matchers) => databases.resolveDatabase(matchers))) {
    byDatabase.set(database, [...(byDatabase.get(database) ?? []), matchers]);
  }
  return byDatabase;
}

function limitedResponse<T>(
  all: readonly T[],
  text: (item: T) => string,
  { limit }: PromSeriesRequest,
  { databases }: SeriesContext,
): Iterable<string> {
  const { items, isTruncated } = applyLimit(all, limit ?? 0);
  const warnings = [...(isTruncated ? [TRUNCATED_WARNING] : []), ...databases.warnings];
  return envelope(jsonArray(textsOf(items, text)), () => ({ warnings, infos: [] }));
}

/** Maps lazily: there may be millions of items. */
function* textsOf<T>(items: readonly T[], text: (item: T) => string): Iterable<string> {
  for (const item of items) yield text(item);
}

const NO_FACTS: SeriesFacts = {
  seriesCount: 0,
  labelPairCount: 0,
  seriesCountByMetricName: [],
  labelValueCountByLabelName: [],
  memoryInBytesByLabelName: [],
  seriesCountByLabelValuePair: [],
};

async function factsResponse(request: PromSeriesRequest, { databases }: SeriesContext): Promise<Iterable<string>> {
  const read = (samples: DatabaseSamples): Promise<SeriesFacts> => samples.facts(request.limit ?? 10);
  const { seriesCount, labelPairCount, ...lists } = (await databases.read(request.database, read)) ?? NO_FACTS;
  const counts = { numSeries: seriesCount, numLabelPairs: labelPairCount, chunkCount: 0, minTime: 0, maxTime: 0 };
  const data = JSON.stringify({ headStats: counts, ...lists });
  return envelope([data], () => ({ warnings: databases.warnings, infos: [] }));
}

async function metadataResponse(request: PromSeriesRequest, context: SeriesContext): Promise<Iterable<string>> {
  const { database, name, limit, limitPerMetric } = request;
  const { databases, extras, call } = context;
  const byMetric = await databases.releaseSlotWhile(() => extras.metadata(database, name, call));
  // As in Prometheus, no limit returns all and zero returns nothing.
  const metrics = [...byMetric].slice(0, limit).map(([metric, entries]) => {
    return [metric, limitPerMetric === undefined || limitPerMetric === 0 ? entries : entries.slice(0, limitPerMetric)];
  });
  return envelope([JSON.stringify(Object.fromEntries(metrics))], () => ({ warnings: [], infos: [] }));
}

async function exemplarsResponse(request: PromSeriesRequest, context: SeriesContext): Promise<Iterable<string>> {
  const { dialect, databases, extras, call } = context;
  const selectors = selectorsOf(parseQuery(request.name, dialect)).map(({ selector }) => selector.matchers);
  const { fromMs, toMs } = request;
  const found = [];
  if (selectors.length > 0) {
    for (const [database, matcherSets] of setsByDatabase(request.database, selectors, databases)) {
      const query = { database, matcherSets, fromMs, toMs };
      for (const one of await databases.releaseSlotWhile(() => extras.exemplars(query, call))) found.push(one);
    }
  }
  const elements = found.map(({ series, exemplars }) => {
    const texts = exemplars.map(({ labels, value, timeMs }) => {
      return `{"labels":${labelSetJson(labels)},"value":"${floatText(value)}","timestamp":${timeText(timeMs)}}`;
    });
    return `{"seriesLabels":${labelSetJson(series)},"exemplars":[${texts.join(',')}]}`;
  });
  return envelope(jsonArray(elements), () => ({ warnings: [], infos: [] }));
}

/**
 * Parses `match[]` parameters.
 *
 * @throws `invalid_syntax`; `invalid_arguments` if one of them matches every series.
 */
function parseMatches(texts: readonly string[], dialect: Dialect): (readonly LabelMatcher[])[] {
  const sets = texts.map((text) => parseSelector(text, dialect));
  if (sets.every((matchers) => !matchers.every(matchesEmpty))) return sets;
  throw new AlmanacError('invalid_arguments', 'match[] must contain at least one non-empty matcher');
}
