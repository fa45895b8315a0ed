/** Decoding of remote write on one thread: `npm run bench -- micro remotewrite`. */
import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { DecoderV1 } from '#services/gateway/protocols/remotewrite/decode-v1';
import { DecoderV2 } from '#services/gateway/protocols/remotewrite/decode-v2';
import { labelRules } from '#services/gateway/protocols/common/metric-labels';
import { MetricRows } from '#services/gateway/protocols/common/metric-rows';
import { RemoteWriteCache } from '#services/gateway/protocols/remotewrite/remote-write-cache';
import { BatchSet } from '#shared/rowbatch/builder';
import { BuilderPool } from '#shared/rowbatch/builder-pool';
import { metricNames } from '#shared/schema/metric-table';
import { bodyV1, bodyV2, type Series } from '#test/support/remote-write-messages';

const MEBIBYTE = 1024 * 1024;
const SERIES_PER_BODY = 2_000;
const BODIES = 10;
const SLICE_BYTES = 32 * 1024;
const START_MS = 1_700_000_000_000;

const names = metricNames({ naming: 'almanac', defaultColumnPrefix: '' });
const rules = labelRules({ isLossy: false, isLegacy: false }, names);
const write = {
  database: 'public',
  create: true,
  timeIndex: { name: names.timeColumn, type: 'TimestampMillisecond' },
  tableOptions: {},
  timeType: 'TimestampMillisecond',
};

/** Nine labels and one sample each. */
function seriesOf(body: number): Series[] {
  return Array.from({ length: SERIES_PER_BODY }, (_, i) => ({
    labels: [
      ['__name__', `node_network_transmit_packets_${i % 480}_total`],
      ['cluster', 'eu-central-1-production'],
      ['cpu', String(i % 16)],
      ['datacenter', `eu-central-1${'abc'[i % 3]}`],
      ['device', `eth${i % 4}`],
      ['instance', `node-${body * SERIES_PER_BODY + i}.example.com:9100`],
      ['job', 'node-exporter'],
      ['mode', ['user', 'system', 'idle', 'iowait'][i % 4]],
      ['team', 'infrastructure'],
    ],
    samples: [{ value: Math.sqrt(i) * 1e6, timestamp: START_MS + body }],
    metadata: { type: 1, help: `Help of ${i % 480}`, unit: '' },
  }));
}

function measure(name: string, bodies: readonly Buffer[], version: 1 | 2, withFinish: boolean): void {
  const cache = new RemoteWriteCache(new CacheMemory(64 * MEBIBYTE), rules);
  const pool = new BuilderPool(32 * MEBIBYTE);
  const options = { cache, rules, defaultTable: names.physicalTable };
  const decodeAll = (): number => {
    let samples = 0;
    for (const body of bodies) {
      const batches = new BatchSet(pool);
      const rows = new MetricRows({ names, write, defaultTable: names.physicalTable, nowMs: 0 }, batches);
      const decoder = version === 1 ? new DecoderV1(body, rows, options) : new DecoderV2(body, rows, options);
      while (!decoder.decode(SLICE_BYTES)) continue;
      decoder.metadataKept();
      samples += rows.sampleCount;
      if (withFinish) for (const table of batches.tables.values()) table.finish(() => 1);
      batches.release();
    }
    return samples;
  };
  for (let round = 0; round < 20; round++) decodeAll();
  const rates = Array.from({ length: 15 }, () => {
    const before = process.cpuUsage();
    let samples = 0;
    for (let round = 0; round < 10; round++) samples += decodeAll();
    const { user, system } = process.cpuUsage(before);
    return (samples / (user + system)) * 1000;
  }).sort((a, b) => a - b);
  console.log(`${name.padEnd(36)} ${Math.round(rates[7])} thousand samples a CPU second`);
}

const all = Array.from({ length: BODIES }, (_, body) => seriesOf(body));
const shuffled = all.map((series, i) => (i % 2 === 0 ? series : [...series].reverse()));
measure(
  '1.0, same order',
  all.map((series) => bodyV1(series)),
  1,
  false,
);
measure(
  '1.0, same order, finish',
  all.map((series) => bodyV1(series)),
  1,
  true,
);
measure(
  '1.0, other order every time',
  [...all, ...shuffled].map((series) => bodyV1(series)),
  1,
  false,
);
measure('2.0, same order, metadata', all.map(bodyV2), 2, false);
measure('2.0, same order, metadata, finish', all.map(bodyV2), 2, true);
