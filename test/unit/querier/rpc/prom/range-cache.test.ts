import { expect } from 'chai';

import type { PromResult } from '#services/querier/promql/index';
import { Labels } from '#services/querier/series/labels';
import type { StepSeries } from '#services/querier/promql/runtime/samples';
import { ArrivalLog } from '#services/querier/series/arrival-log';
import { RangeCache, type States } from '#services/querier/rpc/prom/range-cache';

const STEP_MS = 1000;

/** Series whose value at a time is the time. */
function answerAt(startMs: number, steps: number, count: number): PromResult {
  const series = Array.from({ length: count }, (_, i): StepSeries => {
    const values = Float64Array.from({ length: steps }, (_, step) => startMs + step * STEP_MS);
    return {
      labels: Labels.of([['i', String(i)]]),
      kinds: new Uint8Array(steps).fill(1),
      values,
      isNameDropped: false,
    };
  });
  return { value: { kind: 'vector', series }, steps, warnings: [], infos: [] };
}

class Rig {
  readonly evaluated: [startMs: number, steps: number][] = [];
  readonly #cache: RangeCache;
  readonly #count: number;
  readonly #states: States;

  /** @param states of all questions. */
  constructor(limitBytes: number, count: number, states: States = new Map()) {
    this.#states = states;
    this.#cache = new RangeCache(limitBytes);
    this.#count = count;
  }

  async ask(startMs: number, steps: number): Promise<readonly StepSeries[]> {
    const range = { key: 'k', startMs, stepMs: STEP_MS, steps, states: this.#states };
    const { value } = await this.#cache.answer(range, (fromMs, count) => {
      this.evaluated.push([fromMs, count]);
      return Promise.resolve(answerAt(fromMs, count, this.#count));
    });
    return value.kind === 'vector' ? value.series : [];
  }
}

describe('RangeCache', () => {
  it('computes what is lacking in front and behind', async () => {
    const rig = new Rig(1 << 20, 2);
    await rig.ask(10_000, 20);
    for (const [startMs, steps] of [
      [12_000, 20],
      [8_000, 22],
    ]) {
      for (const { values, kinds } of await rig.ask(startMs, steps)) {
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

  it('keeps arrays of no more than the steps that count', async () => {
    const rig = new Rig(1 << 20, 1);
    await rig.ask(0, 2000);
    await rig.ask(1_990_000, 10);
    const [{ values, texts }] = await rig.ask(1_990_000, 10);
    expect(values.buffer.byteLength).to.be.at.most(2 * 10 * 8);
    expect(texts?.all.length).to.be.at.most(2 * 10);
  });

  it('keeps neither answers nor texts that are too large', async () => {
    const rig = new Rig(1000, 5);
    const [{ texts }] = await rig.ask(0, 20);
    expect(texts).to.equal(undefined);
    await rig.ask(0, 20);
    expect(rig.evaluated).to.have.length(2);
  });

  it('counts what is known of the tables of a query', async () => {
    const regions = [{ arrivals: new ArrivalLog(), sequenceTo: 1n, losses: 0 }];
    const tables = Array.from({ length: 1000 }, (_, id) => [id, { schemaVersion: 1, regions, oldestMs: 0 }] as const);
    for (const [count, evaluations] of [
      [10, 1],
      [1000, 2],
    ]) {
      const rig = new Rig(1 << 18, 1, new Map([['public', new Map(tables.slice(0, count))]]));
      for (let i = 0; i < 2; i++) await rig.ask(0, 20);
      expect(rig.evaluated).to.have.length(evaluations);
    }
  });
});
