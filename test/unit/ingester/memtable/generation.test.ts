import { expect } from 'chai';

import { Generation } from '#services/ingester/memtable/generation';
import { SeriesRegistry } from '#services/ingester/memtable/series-registry';
import type { RowBatch } from '#shared/rowbatch/row-batch';

/** Returns a batch with the rows `[sid, time]` of a table without fields. */
function batchOf(rows: readonly (readonly [number, bigint])[]): RowBatch {
  return {
    rowCount: rows.length,
    tsids: BigUint64Array.from([0n, 1n, 2n]),
    seriesIndex: Uint32Array.from(rows, ([sid]) => sid),
    times: BigInt64Array.from(rows, ([, time]) => time),
    columns: [],
  };
}

describe('Generation.put', () => {
  let registry: SeriesRegistry;
  const sids = Uint32Array.from([0, 1, 2]);
  beforeEach(() => {
    registry = new SeriesRegistry();
    for (let i = 0; i < 3; i++) registry.define(i, i, new Uint8Array(0));
  });

  function put(generation: Generation, rows: readonly (readonly [number, bigint])[]) {
    return generation.put(batchOf(rows), sids, generation.sequenceTo, registry);
  }

  it('counts no row as late that is newer than its own series', () => {
    const generation = new Generation(1, 0n, 0);
    put(generation, [
      [0, 10n],
      [1, 5n],
      [0, 11n],
    ]);
    put(generation, [
      [1, 6n],
      [2, 1n],
    ]);
    expect(generation.late).to.equal(undefined);
    expect(generation.rowCount).to.equal(5);
    expect(generation.sequenceTo).to.equal(5n);
  });

  it('finds the range of rows at or before the greatest time of their series', () => {
    const generation = new Generation(1, 0n, 0);
    put(generation, [
      [0, 10n],
      [1, 20n],
    ]);
    const held = put(generation, [
      [0, 10n],
      [1, 15n],
      [2, 1n],
      [0, 12n],
    ]);
    expect(held.late).to.deep.equal({ first: 10n, last: 15n });
    expect(generation.late).to.deep.equal({ first: 10n, last: 15n });
  });

  it('finds a row that is twice in one batch', () => {
    const generation = new Generation(1, 0n, 0);
    put(generation, [
      [0, 10n],
      [0, 10n],
    ]);
    expect(generation.late).to.deep.equal({ first: 10n, last: 10n });
  });

  it('distinguishes rows that are late to earlier generations from rows that are late to their own', () => {
    const first = new Generation(1, 0n, 0);
    put(first, [[0, 10n]]);
    registry.sealTimes();
    const second = new Generation(2, 1n, 0);
    put(second, [
      [0, 30n],
      [0, 20n],
    ]);
    expect(second.late).to.deep.equal({ first: 20n, last: 20n });
    expect(second.lateToSealed).to.equal(undefined);
    put(second, [[0, 7n]]);
    expect(second.lateToSealed).to.deep.equal({ first: 7n, last: 7n });
  });

  it('misses no late row at the ends of the time range, where doubles are coarse', () => {
    const end = 9_223_372_036_854_775_806n;
    const generation = new Generation(1, 0n, 0);
    put(generation, [
      [0, end],
      [1, -end],
    ]);
    const held = put(generation, [
      [0, end - 1n],
      [1, -end],
    ]);
    expect(held.late !== undefined && held.late.first <= -end && held.late.last >= end - 1n).to.equal(true);
    expect(held.times.first <= -end && held.times.last >= end - 1n).to.equal(true);
  });

  it('counts new series and their tags, also without rows', () => {
    const generation = new Generation(1, 0n, 0);
    const before = generation.engineBytes;
    generation.noteDefinition(6, 250);
    generation.noteDefinition(7, 250);
    expect(generation.engineBytes - before).to.be.within(1000, 1100);
    expect(generation.heldBytes).to.equal(500);
    expect(generation.seriesCount).to.equal(8);
  });
});

describe('SeriesRegistry', () => {
  it('finds each of many series by its id, and nothing else', () => {
    const registry = new SeriesRegistry();
    for (let i = 0; i < 10_000; i++) registry.define(Math.imul(i, 2654435761) >>> 0, i, new Uint8Array([i & 255]));
    for (let i = 0; i < 10_000; i++) expect(registry.find(Math.imul(i, 2654435761) >>> 0, i)).to.equal(i);
    expect(registry.find(1, 10_001)).to.equal(-1);
    expect(registry.tsidOf(3)).to.equal((3n << 32n) | BigInt(Math.imul(3, 2654435761) >>> 0));
  });

  it('discards tags of published series', () => {
    const registry = new SeriesRegistry();
    for (let i = 0; i < 3; i++) registry.define(i, 0, new Uint8Array([i]));
    registry.published(2);
    expect(registry.publishedCount).to.equal(2);
    expect([...registry.tagsOf(2)]).to.deep.equal([2]);
  });
});
