import { thisMachine } from '#shared/config/env';
import { AlmanacError } from '#shared/errors/almanac-error';

import { LIMIT_PARAMETER } from '../../openapi/parameters.js';
import { FLAG, listOf, NUMBER, objectOf, TEXT, TEXT_MAP, TIME_TEXT, WHOLE } from '../../openapi/schemas.js';
import { compactDurationText, MAX_TIME_MS, MIN_TIME_MS } from '../prom-times.js';
import { promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

/** Version of Prometheus whose API this is; clients choose their calls by it. */
const PROMETHEUS_VERSION = '3.14.0';
const STATISTICS_LIMIT = 10;
const STATISTICS_LIMIT_MAX = 10_000;

/** Has no member `features`, by which Grafana would recognise another product. */
const buildInfo: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/status/buildinfo',
  doc: promDoc({
    summary: 'Returns the version of Prometheus whose API this is',
    data: objectOf({
      version: TEXT,
      revision: TEXT,
      branch: TEXT,
      buildUser: TEXT,
      buildDate: TEXT,
      goVersion: TEXT,
      almanacVersion: TEXT,
    }),
  }),
  needsNoData: true,
  async run({ call }, { admin }) {
    const { version, commit, branch } = await admin.status({}, call);
    const build = { revision: commit, branch, buildUser: '', buildDate: '', goVersion: '' };
    return { data: { version: PROMETHEUS_VERSION, ...build, almanacVersion: version } };
  },
};

const RUNTIME_INFO = objectOf({
  startTime: TIME_TEXT,
  CWD: TEXT,
  hostname: TEXT,
  serverTime: TIME_TEXT,
  reloadConfigSuccess: FLAG,
  lastConfigTime: TIME_TEXT,
  corruptionCount: WHOLE,
  goroutineCount: WHOLE,
  GOMAXPROCS: WHOLE,
  GOMEMLIMIT: WHOLE,
  GOGC: TEXT,
  GODEBUG: TEXT,
  storageRetention: TEXT,
});

const runtimeInfo: PromEndpoint = {
  methods: ['GET'],
  path: '/status/runtimeinfo',
  doc: promDoc({ summary: 'Returns start and time of the server', data: RUNTIME_INFO }),
  needsNoData: true,
  async run({ call }, { admin, nowMs }) {
    const { startedMs, hostname } = await admin.status({}, call);
    const startTime = new Date(startedMs).toISOString();
    return {
      data: {
        startTime,
        CWD: '',
        hostname,
        serverTime: new Date(nowMs()).toISOString(),
        reloadConfigSuccess: true,
        lastConfigTime: startTime,
        corruptionCount: 0,
        goroutineCount: 0,
        GOMAXPROCS: thisMachine().coreCount,
        GOMEMLIMIT: 0,
        GOGC: '',
        GODEBUG: '',
        storageRetention: '',
      },
    };
  },
};

/** Hides the configuration, since the public listener serves this path as well. */
const emptyConfig: PromEndpoint = {
  methods: ['GET'],
  path: '/status/config',
  doc: promDoc({ summary: 'Returns an empty configuration', data: objectOf({ yaml: TEXT }) }),
  needsNoData: true,
  run: () => ({ data: { yaml: '' } }),
};

const flags: PromEndpoint = {
  methods: ['GET'],
  path: '/status/flags',
  doc: promDoc({ summary: 'Returns limits of queries', data: TEXT_MAP }),
  needsNoData: true,
  run: (_request, { config: { promql } }) => ({
    data: {
      'query.lookback-delta': compactDurationText(promql.lookbackMs),
      'query.max-samples': String(promql.maxSamples),
      'query.timeout': compactDurationText(promql.timeoutMs),
      'storage.tsdb.retention.time': '0s',
    },
  }),
};

const COUNTS = listOf(objectOf({ name: TEXT, value: NUMBER }));
const FACTS = objectOf({
  headStats: { type: 'object', additionalProperties: NUMBER },
  seriesCountByMetricName: COUNTS,
  labelValueCountByLabelName: COUNTS,
  memoryInBytesByLabelName: COUNTS,
  seriesCountByLabelValuePair: COUNTS,
});

const tsdbStatistics: PromEndpoint = {
  methods: ['GET'],
  path: '/status/tsdb',
  doc: promDoc({
    summary: 'Returns the metrics and labels with most series',
    parameters: [LIMIT_PARAMETER],
    data: FACTS,
  }),
  run({ form, database, call }, { querier }) {
    const text = form.value('limit');
    const limit = text === '' ? STATISTICS_LIMIT : Number(text);
    if (!/^\+?\d*$/.test(text) || limit < 1) {
      throw new AlmanacError('invalid_arguments', 'limit must be a positive number');
    }
    if (limit > STATISTICS_LIMIT_MAX) {
      throw new AlmanacError('invalid_arguments', `limit must not exceed ${STATISTICS_LIMIT_MAX}`);
    }
    const window = { fromMs: MIN_TIME_MS, toMs: MAX_TIME_MS };
    return { texts: querier.promSeries({ kind: 'facts', database, name: '', matches: [], limit, ...window }, call) };
  },
};

/** Reports no progress: the log is replayed before queries are served. */
const walReplay: PromEndpoint = {
  methods: ['GET'],
  path: '/status/walreplay',
  doc: promDoc({
    summary: 'Reports no progress of a replay',
    data: objectOf({ min: WHOLE, max: WHOLE, current: WHOLE }),
  }),
  needsNoData: true,
  run: () => ({ data: { min: 0, max: 0, current: 0 } }),
};

/** Endpoints that describe the server. */
export const statusParts: readonly PromEndpoint[] = [
  buildInfo,
  runtimeInfo,
  emptyConfig,
  flags,
  tsdbStatistics,
  walReplay,
];
