import { expect } from 'chai';

import type { Flusher } from '#services/ingester/region/flusher';
import type { Region } from '#services/ingester/region/region';
import type { Regions } from '#services/ingester/region/regions';
import { Triggers } from '#services/ingester/region/triggers';
import { MemoryBudget } from '#shared/limits/memory-budget';
import { ManualClock } from '#test/support/manual-clock';

/**
 * Makes regions that hold these bytes.
 * @returns the indexes of those that a tick flushes.
 */
function flushed(heldBytes: readonly number[], usedBytes: number, busy = 0): number[] {
  const clock = new ManualClock();
  const open = heldBytes.map((bytes) => ({ open: { heldBytes: bytes, rowCount: 0 } }) as unknown as Region);
  const started: number[] = [];
  const flusher: Pick<Flusher, 'busy' | 'start'> = { busy, start: (region) => started.push(open.indexOf(region)) };
  const memory = new MemoryBudget({ name: 'memtable', limitBytes: 1000, clock });
  memory.charge(usedBytes);
  new Triggers({
    ...{ memory, clock, flushBytes: 1e9, flushIntervalMs: 1e9, walBytesMax: 1e9, wal: () => undefined },
    flusher: flusher as Flusher,
    regions: { open } as unknown as Regions,
  }).tick();
  return started;
}

/** Returns whether a batch that gives a region this size starts its flush. */
function flushesAt(engineBytes: number, rowCount: number): boolean {
  const region = { open: { engineBytes, rowCount }, frozen: [] } as unknown as Region;
  const started: Region[] = [];
  const clock = new ManualClock();
  new Triggers({
    ...{ clock, flushBytes: 1e9, flushIntervalMs: 1e9, walBytesMax: 1e9, wal: () => undefined },
    memory: new MemoryBudget({ name: 'memtable', limitBytes: 1000, clock }),
    flusher: { busy: 0, start: (it: Region) => started.push(it) } as unknown as Flusher,
    regions: { open: [region] } as unknown as Regions,
  }).onPut(region);
  return started.length === 1;
}

describe('Triggers', () => {
  it('flush a region at its size, or at a number of rows if they are narrow', () => {
    expect(flushesAt(1e9 - 1, 1_000_000)).to.equal(false);
    expect(flushesAt(1e9, 1_000_000)).to.equal(true);
    expect(flushesAt(80e6, 3_145_727)).to.equal(false);
    expect(flushesAt(80e6, 3_145_728)).to.equal(true);
  });

  it('flush nothing while there is memory', () => {
    expect(flushed([300, 299], 599)).to.deep.equal([]);
  });

  it('flush the largest region when memory runs short', () => {
    expect(flushed([100, 400, 120], 620)).to.deep.equal([1]);
  });

  it('flush as many as needed if all are small', () => {
    expect(flushed([10, 90, 80, 0, 100, 5], 850)).to.deep.equal([4, 1, 2]);
    expect(flushed([10, 0, 20], 1000)).to.deep.equal([2, 0]);
  });

  it('wait for flushes in progress', () => {
    expect(flushed([500, 500], 1000, 2)).to.deep.equal([]);
  });
});
