import { expect } from 'chai';
import { compressSync } from 'snappy';

import type { HttpApi } from './almanac.js';
import { bodyV1, type Exemplar, type MetadataMessage } from './remote-write-messages.js';

/** A series to write, with a sample at each time from `fromMs` to `toMs`. */
export interface WrittenSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: (timeMs: number) => number;
  /** Times without a sample. */
  readonly isGap?: (timeMs: number) => boolean;
  readonly exemplars?: readonly Exemplar[];
}

/** Texts that a page must show as they are. */
export const HOSTILE_TEXTS = {
  markup: '<img src=x onerror=alert(1)>',
  direction: '\u202eabc\u202d',
  control: 'a\u0007\u001b[31mb',
  long: 'x'.repeat(2000),
} as const;

/** Writes series over remote write. */
export async function writeSeries(
  api: HttpApi,
  series: readonly WrittenSeries[],
  times: { readonly fromMs: number; readonly toMs: number; readonly stepMs: number },
  metadata: readonly MetadataMessage[] = [],
): Promise<void> {
  const messages = series.map(({ labels, value, isGap = () => false, exemplars = [] }) => {
    const samples = [];
    for (let timestamp = times.fromMs; timestamp <= times.toMs; timestamp += times.stepMs) {
      if (!isGap(timestamp)) samples.push({ timestamp, value: value(timestamp) });
    }
    return { labels: Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)), samples, exemplars };
  });
  const body = compressSync(bodyV1(messages, metadata));
  const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' };
  const { status, text } = await api.post('/v1/prometheus/write', new Uint8Array(body), headers);
  expect(status, text).to.equal(204);
}
