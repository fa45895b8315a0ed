import { expect } from 'chai';

import { ColumnCache } from '#services/querier/columns/column-cache';
import { OpenSegments } from '#services/querier/columns/open-segments';
import { QueryColumns } from '#services/querier/columns/query-columns';
import { FreshGroups, type GroupedRows } from '#services/querier/kernels/fresh/fresh-groups';
import type { FreshGroup } from '#services/querier/kernels/fresh/fresh-group';
import { NotForKernels } from '#services/querier/kernels/query';
import { timeAt } from '#services/querier/kernels/time-grid';
import type { FreshBatch } from '#services/querier/snapshot/fresh-part';
import { systemClock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { LocalStore } from '#shared/segments/local-store';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { freshBatch, type FreshRow } from '#test/support/fresh-batches';

const TYPES: Readonly<Record<number, string>> = { 1: 'Float64', 2: 'Int64', 3: 'Float32', 4: 'UInt16', 5: 'Int64' };

describe('groups of unflushed rows', () => {
  const cacheOf = (valueBytes: number): ColumnCache =>
    new ColumnCache(new LocalStore('', nodeFileSystem), { footerBytes: 1, runBytes: 1 << 20, valueBytes });
  const columnsOf = (cache: ColumnCache): QueryColumns =>
    new QueryColumns({ cache, open: new OpenSegments(cache, systemClock) });

  function randomRow(random: SeededRandom): FreshRow {
    const orNull = (value: number): number | null => (random.below(6) === 0 ? null : value);
    return {
      sid: 3 + random.below(5),
      time: BigInt(random.below(60)) - 1_700_000_000_000_000_000n,
      values: {
        1: orNull(random.pick([NaN, -Infinity, -0, 1.5, random.normal()])),
        2: orNull(random.pick([-5, 100_000, 2 ** 40, 7])),
        3: orNull(random.below(100) / 4),
        4: orNull(random.below(65_536)),
        5: -3,
      },
    };
  }

  /** Returns the rows of a group, in its order, as objects. */
  async function rowsOf(group: FreshGroup, cache: ColumnCache): Promise<FreshRow[]> {
    const { runs, order } = await group.sorted(() => new Slices(systemClock));
    const rows: FreshRow[] = [];
    for (let run = 0; run < runs.count; run++) {
      for (let row = runs.rows[run]; row < runs.rows[run + 1]; row++) {
        const values: Record<number, number | null> = {};
        for (const id of Object.keys(TYPES).map(Number)) {
          const field = group.field(id, order, columnsOf(cache));
          const isValid = field?.valid === undefined || ((field.valid[row >> 3] >> (row & 7)) & 1) === 1;
          values[id] = field === undefined || !isValid ? null : field.base + field.values[row];
        }
        rows.push({ sid: runs.sids[run], time: runs.base + BigInt(timeAt(runs, run, row)), values });
      }
    }
    return rows;
  }

  it('have the rows of their batches, sorted by series and time, whether columns are kept or not', async () => {
    const random = new SeededRandom(1);
    for (const valueBytes of [1 << 20, 0]) {
      const cache = cacheOf(valueBytes);
      for (let round = 0; round < 30; round++) {
        const batches: FreshBatch[] = [];
        const all: FreshRow[] = [];
        for (let count = 1 + random.below(4); count > 0; count--) {
          const has = Object.entries(TYPES).filter(([id]) => id !== '1' || random.below(3) > 0);
          const ids = new Set(has.map(([id]) => Number(id)));
          const rows = Array.from({ length: 1 + random.below(30) }, () => randomRow(random));
          batches.push(freshBatch(rows, Object.fromEntries(has)));
          all.push(...rows.map((row) => ({ ...row, values: { ...row.values, 1: ids.has(1) ? row.values[1] : null } })));
        }
        const { groups, restCount } = new FreshGroups(batches, cache, { small: 1, large: 1 }).first(all.length);
        expect(restCount).to.equal(0);
        const found: FreshRow[] = [];
        // Twice: kept columns have the same values.
        for (const _ of [1, 2]) {
          found.length = 0;
          for (const group of groups) found.push(...(await rowsOf(group, cache)));
        }
        const expected: FreshRow[] = [];
        let at = 0;
        for (const { rowCount } of groups) {
          const rows = all.slice(at, at + rowCount).map((row, i) => ({ row, i }));
          rows.sort((a, b) => a.row.sid - b.row.sid || Number(a.row.time - b.row.time) || a.i - b.i);
          expected.push(...rows.map(({ row }) => row));
          at += rowCount;
        }
        expect(found.map(plain)).to.deep.equal(expected.map(plain));
      }
    }
  });

  it('grow with the batches, and leave the newest rows and those of later snapshots ungrouped', () => {
    const row = (time: number): FreshRow => ({ sid: 1, time: BigInt(time), values: {} });
    const batches: FreshBatch[] = [];
    const groups = new FreshGroups(batches, cacheOf(1 << 20), { small: 4, large: 10 });
    const shape = ({ groups: found, rest, restCount }: GroupedRows): unknown => [
      found.map(({ rowCount }) => rowCount),
      rest.map(({ rows }) => rows.rowCount),
      restCount,
    ];
    const add = (count: number): void =>
      void batches.push(
        freshBatch(
          Array.from({ length: count }, (_, i) => row(i)),
          {},
        ),
      );
    expect(shape(groups.first(0))).to.deep.equal([[], [], 0]);
    add(3);
    expect(shape(groups.first(3))).to.deep.equal([[], [3], 3]);
    add(2);
    add(1);
    expect(shape(groups.first(5))).to.deep.equal([[5], [], 0]);
    expect(shape(groups.first(6))).to.deep.equal([[5], [1], 1]);
    // Batches that were appended after the snapshot.
    add(4);
    expect(shape(groups.first(6))).to.deep.equal([[5], [1], 1]);
    expect(shape(groups.first(10))).to.deep.equal([[10], [], 0]);
    // An older snapshot has a part of the group.
    expect(shape(groups.first(6))).to.deep.equal([[], [3, 2, 1], 6]);
    add(25);
    add(4);
    expect(shape(groups.first(39))).to.deep.equal([[10, 25, 4], [], 0]);
  });

  it('refuse integers beyond 2^53, and times that are too far apart', async () => {
    const cache = cacheOf(1 << 20);
    const groupOf = (rows: FreshRow[]): FreshGroup =>
      new FreshGroups([freshBatch(rows, { 2: 'Int64' })], cache, { small: 1, large: 1 }).first(rows.length).groups[0];
    const large = groupOf([{ sid: 1, time: 1n, values: { 2: 2 ** 54 } }]);
    const { order } = await large.sorted(() => new Slices(systemClock));
    expect(() => large.field(2, order, columnsOf(cache))).to.throw(NotForKernels, 'integers beyond 2^53');
    const far = groupOf([1n, 2n ** 60n].map((time) => ({ sid: 1, time, values: { 2: 1 } })));
    const error: unknown = await Promise.resolve(far.sorted(() => new Slices(systemClock))).catch((it: unknown) => it);
    expect(error).to.be.instanceOf(NotForKernels);
  });

  it('keep nothing after they are released', async () => {
    const cache = cacheOf(1 << 20);
    const rows = Array.from({ length: 8 }, (_, i) => ({ sid: i % 2, time: BigInt(i), values: { 1: i } }));
    const groups = new FreshGroups([freshBatch(rows, { 1: 'Float64' })], cache, { small: 1, large: 1 });
    const [group] = groups.first(8).groups;
    const { order } = await group.sorted(() => new Slices(systemClock));
    group.field(1, order, columnsOf(cache));
    expect(group.bytesToMake([1])).to.equal(0);
    groups.release();
    expect(group.bytesToMake([1])).to.be.greaterThan(0);
    // A query that runs still reads it.
    expect((await rowsOf(group, cache)).map(({ values }) => values[1])).to.deep.equal([0, 2, 4, 6, 1, 3, 5, 7]);
    expect(group.bytesToMake([1])).to.be.greaterThan(0);
  });
});

/** Zeros are equal, and NaN is equal to itself. */
function plain({ sid, time, values }: FreshRow): unknown {
  return [sid, String(time), Object.entries(values).map(([id, value]) => [id, value === null ? null : String(value)])];
}
