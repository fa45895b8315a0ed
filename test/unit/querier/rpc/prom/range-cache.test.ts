import { expect } from 'chai';

import type { PromResult } from '#services/querier/promql/index';
import { Labels } from '#services/querier/series/labels';
import { floatSeries, type StepSeries } from '#services/querier/promql/runtime/samples';
import { ArrivalLog } from '#services/querier/series/arrival-log';
import { RangeCache, type DatabaseStates } from '#services/querier/rpc/prom/range-cache';

const STEP_MS = 1000;

/** Series whose values are their times. */
function resultAt(startMs: number, steps: number, count: number): PromResult {
  const series = Array.from({ length: count }, (_, i): StepSeries => {
    const values = Float64Array.from({ length: steps }, (_, step) => startMs + step * STEP_MS);
    return floatSeries(Labels.of([['i', String(i)]]), new Uint8Array(steps).fill(1), values, false);
  });
  return { value: { kind: 'vector', series }, steps, warnings: [], infos: [] };
}

class Rig {
  readonly evaluated: [startMs: number, steps: number][] = [];
  readonly #cache: RangeCache;
  readonly #count: number;
  readonly #states: DatabaseStates;

  /** @param states of the databases for all queries. */
  constructor(limitBytes: number, count: number, states: DatabaseStates = new Map()) {
    this.#states = states;
    this.#cache = new RangeCache(limitBytes);
    this.#count = count;
  }

  async query(startMs: number, steps: number): Promise<readonly StepSeries[]> {
    const range = { key: 'k', startMs, stepMs: STEP_MS, steps, states: this.#states };
    const { value } = await this.#cache.resultOf(range, (fromMs, count) => {
      this.evaluated.push([fromMs, count]);
      return Promise.resolve(resultAt(fromMs, count, this.#count));
    });
    return value.kind === 'vector' ? value.series : [];
  }
}

describe('RangeCache', () => {
  it('computes the missing steps before and after', async () => {
    const rig = new Rig(1 << 20, 2);
    await rig.query(10_000, 20);
    for (const [startMs, steps] of [
      [12_000, 20],
      [8_000, 22],
    ]) {
      for (const { values, kinds } of await rig.query(startMs, steps)) {
        expect([...values]).to.deep.equal(Array.from({ length: steps }, (_, step) => startMs + step * STEP_MS));
        expect(kinds).to.have.length(steps);
      }
    }
    expect(rig.evaluated).to.deep.equal([
      [10_000, 20],
      [30_000, 2],
      [8_000, 2],
    ]);
  });

  it('stores arrays of exactly the cached steps', async () => {
    const rig = new Rig(1 << 20, 1);
    await rig.query(0, 2000);
    await rig.query(1_990_000, 10);
    const [{ values, texts }] = await rig.query(1_990_000, 10);
    expect(values.buffer.byteLength).to.be.at.most(2 * 10 * 8);
    expect(texts?.ends.buffer.byteLength).to.be.at.most(2 * 10 * 4);
    expect(texts?.text).to.match(/^(?:\[19\d\d,"19\d{5}"\],){10}$/);
  });

  it('stores neither results nor texts that are too large', async () => {
    const rig = new Rig(1000, 5);
    const [{ texts }] = await rig.query(0, 20);
    expect(texts).to.equal(undefined);
    await rig.query(0, 20);
    expect(rig.evaluated).to.have.length(2);
  });

  it('counts the size of table states', async () => {
    const regions = [{ arrivals: new ArrivalLog(), sequenceTo: 1n, losses: 0 }];
    const tables = Array.from({ length: 1000 }, (_, id) => [id, { schemaVersion: 1, regions, oldestMs: 0 }] as const);
    for (const [count, evaluations] of [
      [10, 1],
      [1000, 2],
    ]) {
      const rig = new Rig(1 << 18, 1, new Map([['public', new Map(tables.slice(0, count))]]));
      for (let i = 0; i < 2; i++) await rig.query(0, 20);
      expect(rig.evaluated).to.have.length(evaluations);
    }
  });
});
