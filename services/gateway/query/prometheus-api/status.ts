import { thisMachine } from '#shared/config/env';
import { AlmanacError } from '#shared/errors/almanac-error';

import { durationText, MAX_TIME_MS, MIN_TIME_MS } from '../prom-times.js';
import type { PromEndpoint } from './endpoint.js';

/** The version of Prometheus whose API this is: clients choose their calls by it. */
const PROMETHEUS_VERSION = '3.14.0';
const FACTS_LIMIT = 10;
const FACTS_LIMIT_MAX = 10_000;

/** No member `features`: with it Grafana takes the server for another product. */
const buildInfo: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/status/buildinfo',
  needsNoData: true,
  async answer({ call }, { admin }) {
    const { version, commit, branch } = await admin.status({}, call);
    const build = { revision: commit, branch, buildUser: '', buildDate: '', goVersion: '' };
    return { data: { version: PROMETHEUS_VERSION, ...build, almanacVersion: version } };
  },
};

const runtimeInfo: PromEndpoint = {
  methods: ['GET'],
  path: '/status/runtimeinfo',
  needsNoData: true,
  async answer({ call }, { admin, nowMs }) {
    const { startedMs, hostname } = await admin.status({}, call);
    const startTime = new Date(startedMs).toISOString();
    return {
      data: {
        ...{ startTime, CWD: '', hostname, serverTime: new Date(nowMs()).toISOString() },
        ...{ reloadConfigSuccess: true, lastConfigTime: startTime, corruptionCount: 0, goroutineCount: 0 },
        ...{ GOMAXPROCS: thisMachine().coreCount, GOMEMLIMIT: 0, GOGC: '', GODEBUG: '', storageRetention: '' },
      },
    };
  },
};

/** The configuration stays inside: this is on the public listener. */
const config: PromEndpoint = {
  methods: ['GET'],
  path: '/status/config',
  needsNoData: true,
  answer: () => ({ data: { yaml: '' } }),
};

const flags: PromEndpoint = {
  methods: ['GET'],
  path: '/status/flags',
  needsNoData: true,
  answer: (_request, { config: { promql } }) => ({
    data: {
      'query.lookback-delta': durationText(promql.lookbackMs),
      'query.max-samples': String(promql.maxSamples),
      'query.timeout': durationText(promql.timeoutMs),
      'storage.tsdb.retention.time': '0s',
    },
  }),
};

const facts: PromEndpoint = {
  methods: ['GET'],
  path: '/status/tsdb',
  answer({ form, database, call }, { querier }) {
    const text = form.value('limit');
    const limit = text === '' ? FACTS_LIMIT : Number(text);
    if (!/^\+?\d*$/.test(text) || limit < 1) {
      throw new AlmanacError('invalid_arguments', 'limit must be a positive number');
    }
    if (limit > FACTS_LIMIT_MAX) {
      throw new AlmanacError('invalid_arguments', `limit must not exceed ${FACTS_LIMIT_MAX}`);
    }
    const window = { fromMs: MIN_TIME_MS, toMs: MAX_TIME_MS };
    return { pieces: querier.promSeries({ kind: 'facts', database, name: '', matches: [], limit, ...window }, call) };
  },
};

/** The log is read back before data is served. */
const walReplay: PromEndpoint = {
  methods: ['GET'],
  path: '/status/walreplay',
  needsNoData: true,
  answer: () => ({ data: { min: 0, max: 0, current: 0 } }),
};

export const statusParts: readonly PromEndpoint[] = [buildInfo, runtimeInfo, config, flags, facts, walReplay];
