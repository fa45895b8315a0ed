import { request } from 'node:http';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

const BASE = '/v1/loki/loki/api/v1';
const JSON_TYPE = { 'content-type': 'application/json' };
const LINES = 20_000;
/** A process that uses less than this share of a core over this time has no query to compute. */
const IDLE_SHARE = 0.2;
const IDLE_MS = 300;

describe('a client that disconnects during a LogQL query', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function cpuSeconds(): Promise<number> {
    const { text } = await almanac.get('/metrics');
    return Number(/^almanac_process_cpu_seconds_total ([\d.]+)/m.exec(text)?.[1]);
  }

  it('ends the query', async () => {
    const nowMs = Date.now();
    const values = Array.from({ length: LINES }, (_, i) => [
      String(BigInt(nowMs - i * 100) * 1_000_000n),
      `d=${(i * 7919) % 10_007}`,
    ]);
    const body = JSON.stringify({ streams: [{ stream: { app: 'a' }, values }] });
    const pushed = await almanac.post(`${BASE}/push`, body, JSON_TYPE);
    expect(pushed.status, pushed.text).to.equal(204);
    // Sorts up to 20,000 values for each of 10,000 steps, which takes more than 10 seconds.
    const query = 'quantile_over_time(0.5, {app="a"} | logfmt | unwrap d [1h])';
    const times = { start: String(nowMs / 1_000 - 2_000), end: String(nowMs / 1_000), step: '0.2' };
    let isAnswered = false;
    const before = await cpuSeconds();
    const sent = request(`${almanac.url}${BASE}/query_range?${new URLSearchParams({ query, ...times }).toString()}`);
    sent.on('error', () => undefined);
    sent.on('response', () => (isAnswered = true));
    sent.end();
    await eventually(async () => (await cpuSeconds()) > before + 1.5);
    expect(isAnswered).to.equal(false);
    sent.destroy();
    let last = { atMs: performance.now(), seconds: await cpuSeconds() };
    await eventually(async () => {
      const atMs = performance.now();
      if (atMs - last.atMs < IDLE_MS) return false;
      const seconds = await cpuSeconds();
      const share = (seconds - last.seconds) / ((atMs - last.atMs) / 1_000);
      last = { atMs, seconds };
      return share < IDLE_SHARE;
    }, 5_000);
  });
});
