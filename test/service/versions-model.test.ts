import { expect } from 'chai';
import fc from 'fast-check';

import { BUSY } from '#services/ingester/settings';
import type { Table } from '#shared/contracts/gen/common';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { StorageRig, type RigRow } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

type Fields = 'a text' | 'numbers';
type Mode = 'last_row' | 'last_non_null' | 'append' | 'metrics';

type Step =
  | { readonly kind: 'write' | 'delete'; readonly rows: readonly RigRow[] }
  | { readonly kind: 'flush' | 'compact' | 'crash' | 'read' };

const OPTIONS: Readonly<Record<Mode, Record<string, string>>> = {
  last_row: { merge_mode: 'last_row' },
  last_non_null: { merge_mode: 'last_non_null' },
  append: { append_mode: 'true' },
  metrics: { merge_mode: 'last_row', physical_metric_table: 'true' },
};

/** Few hosts and times, so that most rows are versions of others, in order and late. */
const row: fc.Arbitrary<RigRow> = fc
  .record({
    name: fc.constantFrom(undefined, 'm', 'n', 'o'),
    host: fc.constantFrom('x', 'y', 'z'),
    time: fc.integer({ min: 0, max: 12 }),
    a: fc.option(fc.integer({ min: -3, max: 300 }), { nil: undefined }),
    s: fc.option(fc.constantFrom('', 'p', 'q'), { nil: undefined }),
  })
  .map(({ name, host, time, a, s }) => ({
    name,
    host,
    time: BigInt(time) * 40_000_000_000_000n,
    ...(a === undefined ? {} : { a }),
    ...(s === undefined ? {} : { s }),
  }));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(row, { minLength: 1, maxLength: 12 }).map((rows) => ({ kind: 'write' as const, rows })),
  },
  {
    weight: 3,
    arbitrary: fc.array(row, { minLength: 1, maxLength: 4 }).map((rows) => ({ kind: 'delete' as const, rows })),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'flush' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'compact' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'crash' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'read' as const }) },
);

/** Expected contents of a table in this merge mode, computed row by row. */
class Model {
  readonly #mode: Mode;
  readonly #all: RigRow[] = [];
  readonly #byKey = new Map<string, RigRow>();

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  put(next: RigRow): void {
    this.#all.push(next);
    const key = keyOf(next);
    const old = this.#mode === 'last_non_null' ? this.#byKey.get(key) : undefined;
    this.#byKey.set(key, { ...old, ...next });
  }

  /** Returns those of the rows that exist. */
  present(rows: readonly RigRow[]): RigRow[] {
    return rows.filter((it) => this.#byKey.has(keyOf(it)));
  }

  delete(row: RigRow): void {
    this.#byKey.delete(keyOf(row));
  }

  get rows(): RigRow[] {
    return this.#mode === 'append' ? this.#all : [...this.#byKey.values()];
  }
}

function keyOf({ name, host, time }: RigRow): string {
  return `${name ?? ''} ${host}@${time}`;
}

/** Turns the value into one that merges store as a whole number, or now and then into one that they do not. */
function withFraction(row: RigRow): RigRow {
  return row.a === undefined ? row : { ...row, a: row.a / (row.a % 9 === 0 ? 7 : 8) };
}

/** Turns the text into a number: flushes treat rows without texts differently. */
function withoutText({ s, ...row }: RigRow): RigRow {
  return s === undefined ? row : { ...row, b: ['', 'p', 'q'].indexOf(s) / 2 };
}

function rowsToWrite(rows: readonly RigRow[], mode: Mode, fields: Fields): RigRow[] {
  const written = fields === 'numbers' ? rows.map(withoutText) : rows;
  return mode === 'metrics' ? written.map(withFraction) : written.map((it) => ({ ...it, name: undefined }));
}

/** Returns a text for a set of rows that does not depend on their order. */
function canonical(rows: readonly RigRow[]): string[] {
  return rows
    .map(({ name, host, time, a, s, b }) => `${name ?? ''} ${host} ${time} ${a ?? '-'} ${s ?? '-'} ${b ?? '-'}`)
    .sort();
}

/** Checks that a query that names a metric finds exactly its rows. */
async function expectFound(rig: StorageRig, table: Table, model: Model): Promise<void> {
  for (const name of ['m', 'n']) {
    const { rowCount } = await rig.found(table, new Map([[METRIC_NAME, [name]]]));
    expect(rowCount).to.equal(model.rows.filter((it) => it.name === name).length);
  }
}

/** Segments of a few rows each: a merge writes several. */
const COMPACTION = { isAutomatic: false, intervalMs: 1_000, quietMs: 600_000, busy: BUSY, segmentRows: 5 };

const CASES = (['last_row', 'last_non_null', 'append', 'metrics'] as const).flatMap((mode) =>
  (['a text', 'numbers'] as const).map((fields) => ({ mode, fields })),
);
const RUNS = 20;

describe('versions of rows', () => {
  for (const { mode, fields } of CASES) {
    it(`${mode}, ${fields}: any mix of writes, deletions, flushes, merges and crashes reads like the model`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
          const cleanUps: (() => void)[] = [];
          const newFolder = (): string => tempFolder((cleanUp) => cleanUps.push(cleanUp));
          let rig = await StorageRig.start(newFolder(), { config: { compaction: COMPACTION } });
          const model = new Model(mode);
          try {
            const table = await rig.table('t', OPTIONS[mode], fields === 'numbers' ? 'b' : 's');
            for (const action of [...steps, { kind: 'read' as const }]) {
              if (action.kind === 'write') {
                const rows = rowsToWrite(action.rows, mode, fields);
                await rig.write(table, rows);
                for (const next of rows) model.put(next);
              } else if (action.kind === 'delete') {
                if (mode === 'append') continue;
                const named = mode === 'metrics' ? action.rows : action.rows.map((it) => ({ ...it, name: undefined }));
                const gone = model
                  .present(named)
                  .map(({ name, host, time }) => ({ name, host, time, isDeleted: true }));
                if (gone.length > 0) await rig.write(table, gone);
                for (const it of gone) model.delete(it);
              } else if (action.kind === 'flush') {
                await rig.flush(table);
              } else if (action.kind === 'compact') {
                await rig.compact(table);
              } else if (action.kind === 'crash') {
                const folder = newFolder();
                rig.crashImage(folder);
                await rig.stop();
                rig = await StorageRig.start(folder, { config: { compaction: COMPACTION } });
              } else {
                expect(canonical(await rig.rows(table))).to.deep.equal(canonical(model.rows));
                if (mode === 'metrics') await expectFound(rig, table, model);
              }
            }
          } finally {
            await rig.stop();
            for (const cleanUp of cleanUps) cleanUp();
          }
        }),
        { numRuns: RUNS },
      );
    });
  }

  it('are merged if a segment has the late band of its flush but no row of those times', async () => {
    const cleanUps: (() => void)[] = [];
    const rig = await StorageRig.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    try {
      const table = await rig.table('t', OPTIONS.last_row);
      await rig.write(table, [{ host: 'z', time: 0n, a: 1 }]);
      await rig.flush(table);
      // In another window, and of another series.
      const other = { host: 'x', time: 172_800_000_000_000n, a: 2 };
      await rig.write(table, [{ host: 'z', time: 0n, a: 3 }, other]);
      await rig.flush(table);
      expect((await rig.found(table, new Map([['host', ['x']]]))).rowCount).to.equal(1);
      expect(canonical(await rig.rows(table))).to.deep.equal(canonical([{ host: 'z', time: 0n, a: 3 }, other]));
      const later = { ...other, time: other.time + 1n };
      await rig.write(table, [{ host: 'z', time: 0n, a: 4 }, later]);
      await rig.flush(table);
      expect(await rig.compact(table)).to.equal(5);
      expect(canonical(await rig.rows(table))).to.deep.equal(canonical([{ host: 'z', time: 0n, a: 4 }, other, later]));
    } finally {
      await rig.stop();
      for (const cleanUp of cleanUps) cleanUp();
    }
  });
});
