import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import fc from 'fast-check';

import { nodeFileSystem } from '#shared/fs/node-file-system';
import { BloomBuilder } from '#shared/term-index/bloom';
import { appendIndexes, type BuiltIndex } from '#shared/term-index/index-file';
import { InvertedBuilder } from '#shared/term-index/inverted-builder';
import { TermIndex } from '#shared/term-index/term-index';
import type { Needle, TextQuery } from '#shared/term-index/text-query';
import { testFolder, type TestFolder } from '../../../support/metadata.js';

const WORDS = [
  'error',
  'Error',
  'ERROR',
  'errors',
  'a',
  'b1',
  'x'.repeat(127),
  'y'.repeat(128),
  'z'.repeat(300),
  'K',
  'k',
  'id',
];
const OTHERS = [' ', '-', '=', '/', '"', '\n', 'é', 'Ü', '日本', '語', 'K', 'İ', '_', ''];

const text = fc
  .array(fc.oneof(fc.constantFrom(...WORDS), fc.constantFrom(...OTHERS)), { maxLength: 12 })
  .map((parts) => parts.join(''));
const needle = fc
  .record({ text, isTerm: fc.boolean(), folds: fc.boolean() })
  .filter((it) => it.text !== '')
  .map(({ text: part, isTerm, folds }): Needle => {
    return { kind: 'needle', text: folds ? part.toLowerCase() : part, isTerm, folds };
  });
const query: fc.Arbitrary<TextQuery> = fc.letrec<{ query: TextQuery }>((tie) => ({
  query: fc.oneof(
    { depthSize: 'small' },
    { arbitrary: needle, weight: 4 },
    {
      arbitrary: fc.record({
        kind: fc.constantFrom('all' as const, 'any' as const),
        parts: fc.array(tie('query'), { minLength: 1, maxLength: 3 }),
      }),
      weight: 1,
    },
    { arbitrary: tie('query').map((part) => ({ kind: 'not' as const, part })), weight: 1 },
  ),
})).query;

/** The definition of the conditions, without an index. */
function isMatch(value: string, wanted: TextQuery): boolean {
  if (wanted.kind === 'not') return !isMatch(value, wanted.part);
  if (wanted.kind !== 'needle') {
    const isPart = (part: TextQuery): boolean => isMatch(value, part);
    return wanted.kind === 'all' ? wanted.parts.every(isPart) : wanted.parts.some(isPart);
  }
  return hasNeedle(wanted.folds ? value.toLowerCase() : value, wanted);
}

function hasNeedle(value: string, { text: part, isTerm }: Needle): boolean {
  if (!isTerm || /\p{Script=Han}/u.test(part)) return value.includes(part);
  const word = /(?=[^\0-\x7f])\p{L}/u.test(part) ? '[\\p{L}\\p{N}]' : '[0-9A-Za-z]';
  const [begins, ends] = [new RegExp(`^${word}`, 'u'), new RegExp(`${word}$`, 'u')];
  for (let at = value.indexOf(part); at !== -1; at = value.indexOf(part, at + 1)) {
    const isOpen = !begins.test(part) || !ends.test(value.slice(0, at));
    if (isOpen && (!ends.test(part) || !begins.test(value.slice(at + part.length)))) return true;
  }
  return false;
}

describe('TermIndex', () => {
  let folder: TestFolder;
  let files = 0;

  beforeEach(() => {
    folder = testFolder();
  });
  afterEach(() => folder.remove());

  /** Writes indexes into a file that has a Parquet footer and nothing else. */
  async function stored(indexes: readonly BuiltIndex[]): Promise<TermIndex> {
    const path = join(folder.path, `${files++}.parquet`);
    writeFileSync(path, 'PAR1 pages');
    appendFileSync(path, 'footer');
    const tail = Buffer.alloc(8);
    tail.writeUInt32LE(6);
    tail.write('PAR1', 4);
    appendFileSync(path, tail);
    await appendIndexes(nodeFileSystem, path, indexes);
    const bytes = (await nodeFileSystem.size(path)) ?? 0;
    return TermIndex.open(() => nodeFileSystem.open(path, 'read'), bytes);
  }

  function bloomOf(texts: readonly (string | null)[], isCaseSensitive: boolean): BuiltIndex {
    const builder = new BloomBuilder({ blockRows: 4, falsePositiveRate: 0.01, isCaseSensitive });
    for (const it of texts) builder.add(it === null ? undefined : Buffer.from(it));
    return { columnId: 1, kind: 'bloom', parts: [{ rowFrom: 0, rowTo: texts.length, section: builder.finish() }] };
  }

  function invertedOf(texts: readonly (string | null)[]): BuiltIndex {
    const builder = new InvertedBuilder(1234);
    for (const it of texts) builder.add(it === null ? undefined : Buffer.from(it));
    return { columnId: 2, kind: 'inverted', parts: builder.finish() };
  }

  it('finds all rows that match, and no others where it says that it is exact', async () => {
    const texts = fc.array(fc.option(text, { freq: 10 }), { minLength: 1, maxLength: 30 });
    const check = async (rows: readonly (string | null)[], wanted: TextQuery, isSensitive: boolean): Promise<void> => {
      const index = await stored([bloomOf(rows, isSensitive), invertedOf(rows)]);
      for (const column of [1, 2]) {
        const found = await index.search(column, wanted);
        const selected = new Set(found.rows ?? rows.keys());
        for (const [row, value] of rows.entries()) {
          const isWanted = value !== null && isMatch(value, wanted);
          const place = `row ${row} ${JSON.stringify(value)} by ${column === 1 ? 'bloom' : 'inverted'}`;
          if (isWanted) expect(selected.has(row), `misses ${place}`).to.equal(true);
          else if (found.isExact && found.rows !== undefined) {
            expect(selected.has(row), `adds ${place}`).to.equal(false);
          }
        }
      }
    };
    await fc.assert(fc.asyncProperty(texts, query, fc.boolean(), check), { numRuns: 1500, seed: 22 });
  });

  it('is exact about words and parts of words, if it is inverted', async () => {
    const index = await stored([invertedOf(['an error', 'Error!', null, 'errors', 'none'])]);
    const rowsOf = async (wanted: Omit<Needle, 'kind'>): Promise<unknown> => {
      const { rows, isExact } = await index.search(2, { kind: 'needle', ...wanted });
      return [Array.from(rows ?? []), isExact];
    };
    expect(await rowsOf({ text: 'error', isTerm: true, folds: false })).to.deep.equal([[0], true]);
    expect(await rowsOf({ text: 'error', isTerm: true, folds: true })).to.deep.equal([[0, 1], true]);
    expect(await rowsOf({ text: 'rror', isTerm: false, folds: false })).to.deep.equal([[0, 1, 3], true]);
    expect(await rowsOf({ text: 'missing', isTerm: true, folds: false })).to.deep.equal([[], true]);
    expect(await rowsOf({ text: 'an error', isTerm: true, folds: false })).to.deep.equal([[0], false]);
  });

  it('searches many terms, frequent and rare ones', async () => {
    const texts = Array.from(
      { length: 30_000 },
      (_, row) => `request ${row} took ${row % 7}ms ${row % 2 === 0 ? 'GET' : 'PUT'}`,
    );
    const index = await stored([bloomOf(texts.slice(0, 100), false), invertedOf(texts)]);
    const rowsOf = async (part: string): Promise<number[]> => {
      const found = await index.search(2, { kind: 'needle', text: part, isTerm: true, folds: false });
      return Array.from(found.rows ?? []);
    };
    expect(await rowsOf('12345')).to.deep.equal([12345]);
    expect(await rowsOf('3ms')).to.deep.equal([...texts.keys()].filter((row) => row % 7 === 3));
    expect(await rowsOf('GET')).to.have.length(15_000);
    expect(await rowsOf('request')).to.have.length(30_000);
    expect(await rowsOf('30000')).to.deep.equal([]);
    const bloom = await index.search(1, { kind: 'needle', text: '57', isTerm: true, folds: false });
    expect(Array.from(bloom.rows ?? []))
      .to.include(57)
      .and.to.have.length.below(20);
  });

  it('bounds the size of filters by folding them', async () => {
    // The first block has more terms than all others, and the rate of false positives cannot be reached.
    const builder = new BloomBuilder({ blockRows: 1, falsePositiveRate: 1e-300, isCaseSensitive: true });
    const many = Array.from({ length: 40_000 }, (_, i) => `m${i}`).join(' ');
    const texts = Array.from({ length: 700 }, (_, row) => (row === 0 ? many : `row ${row}`));
    for (const it of texts) builder.add(Buffer.from(it));
    const section = builder.finish();
    expect(section.length).to.be.within(32 * 1024 * 1024, 64 * 1024 * 1024 + 16);
    const index = await stored([{ columnId: 1, kind: 'bloom', parts: [{ rowFrom: 0, rowTo: 700, section }] }]);
    for (const [term, row] of [
      ['m39999', 0],
      ['m0', 0],
      ['1', 1],
      ['699', 699],
    ] as const) {
      const { rows = [] } = await index.search(1, { kind: 'needle', text: term, isTerm: true, folds: false });
      expect(Array.from(rows), term).to.include(row).and.to.have.length.below(5);
    }
  });

  it('does not look for parts of words among more terms than a scan of the rows takes', async () => {
    const texts = Array.from({ length: 20_000 }, (_, row) => `id${row}x request`);
    const few = Array.from({ length: 20_000 }, (_, row) => `id${row % 100}x request`);
    const find = async (lines: readonly string[]): Promise<number | undefined> => {
      const index = await stored([invertedOf(lines)]);
      const found = await index.search(2, { kind: 'needle', text: 'd7x', isTerm: false, folds: false });
      return found.rows?.length;
    };
    expect(await find(texts)).to.equal(undefined);
    expect(await find(few)).to.equal(200);
  });

  it('ends a search that its caller does not want any more', async () => {
    const index = await stored([invertedOf(['an error', 'none'])]);
    const search = index.search(2, { kind: 'needle', text: 'error', isTerm: true, folds: false }, () => {
      throw new Error('too late');
    });
    expect(await search.catch((error: unknown) => error)).to.have.property('message', 'too late');
  });

  it('reports a file without indexes as such', async () => {
    const path = join(folder.path, 'plain.parquet');
    writeFileSync(path, 'PAR1some pagesfooter\u0006\u0000\u0000\u0000PAR1', 'latin1');
    const index = await TermIndex.open(() => nodeFileSystem.open(path, 'read'), 28);
    expect(index.has(1)).to.equal(false);
    expect(await index.search(1, { kind: 'needle', text: 'a', isTerm: true, folds: false })).to.deep.equal({
      rows: undefined,
      isExact: false,
    });
  });
});
