import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac, type HttpApi } from '#test/support/almanac';
import { COMPARED_QUERIES, COMPARED_START_MS, comparedBatches } from '#test/support/compared-queries';
import { comparePromData, type PromData } from '#test/support/prom-results';
import { needPrograms, startPrometheus, type PeerProgram } from '#test/support/prometheus';
import { bodyV1 } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const S0 = Math.floor(COMPARED_START_MS / 1000);
/**
 * Not aligned with the samples, which are 0.123 s after whole seconds: Prometheus before 3 includes the left edge of a window.
 * Rates at the beginning of a series are avoided too: how far they extrapolate has changed since.
 */
const INSTANTS = [3600.731, 6300.457];
const RANGE = { start: String(S0 + 2201.377), end: String(S0 + 7501.377), step: '97' };
const QUIET_NAN = Buffer.from('000000000000f87f', 'hex');
const STALE = Buffer.from('020000000000f07f', 'hex');
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

describe('Prometheus and Almanac over the same samples', function () {
  this.timeout(180_000);
  const cleanUps: (() => unknown)[] = [];
  let almanac: Almanac;
  let reference: PeerProgram;

  const folder = (): string => tempFolder((cleanUp) => cleanUps.push(cleanUp));

  before(needPrograms('prometheus'));
  before(async () => {
    almanac = await Almanac.start(folder());
    cleanUps.push(() => almanac.kill());
    reference = await startPrometheus(folder(), { flags: ['--web.enable-remote-write-receiver'] });
    cleanUps.push(() => reference.kill());
    let batch = 0;
    for (const { series, stale } of comparedBatches()) {
      const marks = bodyV1(stale);
      for (let at = marks.indexOf(QUIET_NAN); at >= 0; at = marks.indexOf(QUIET_NAN, at)) STALE.copy(marks, at);
      for (const body of stale.length === 0 ? [bodyV1(series)] : [bodyV1(series), marks]) {
        await write(almanac, '/v1/prometheus/write', body);
        // An older Prometheus accepts no sample older than the newest of its series.
        await write(reference, '/api/v1/write', body);
      }
      if (++batch % 5 === 0) await almanac.sql("ADMIN flush_table('almanac_physical_table')");
    }
  });

  after(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  async function write(server: HttpApi, path: string, body: Buffer): Promise<void> {
    const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' };
    const { status, text } = await server.post(path, Uint8Array.from(compressSync(body)), headers);
    expect(status, text).to.equal(204);
  }

  async function ask(server: HttpApi, path: string, form: Record<string, string>): Promise<PromData> {
    const { status, text } = await server.post(path, new URLSearchParams(form).toString(), FORM);
    expect(status, text).to.equal(200);
    return (JSON.parse(text) as { readonly data: PromData }).data;
  }

  async function difference(path: string, form: Record<string, string>): Promise<string> {
    const theirs = await ask(reference, `/api/v1/${path}`, form);
    return comparePromData(theirs, await ask(almanac, `/v1/prometheus/api/v1/${path}`, form));
  }

  it('includes a hundred queries', () => {
    expect(new Set(COMPARED_QUERIES).size).to.equal(COMPARED_QUERIES.length).and.to.be.at.least(100);
  });

  for (const query of COMPARED_QUERIES) {
    it(`agree on ${query}`, async () => {
      expect(await difference('query_range', { query, ...RANGE }), 'range').to.equal('');
      for (const seconds of INSTANTS) {
        expect(await difference('query', { query, time: String(S0 + seconds) }), `at ${seconds}`).to.equal('');
      }
    });
  }

  it('agree on raw samples, and on scalars and strings', async () => {
    for (const query of ['memory_bytes[3m]', 'gone_gauge[2h]', 'up[4m:1m] offset 2m', 'pi() * 2', '"text"', 'time()']) {
      expect(await difference('query', { query, time: String(S0 + 6300.457) }), query).to.equal('');
    }
  });
});
