import { expect } from 'chai';

import { checkQuery } from '#test/bench/tsbs/check';
import { generate, LineEncoder, type TsbsData } from '#test/bench/tsbs/generator';
import { drawQueries, QUERY_KIND_NAMES, toSql } from '#test/bench/tsbs/queries';
import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

/** Two hours of 50 hosts: 36,000 rows. */
const SHAPE = { hosts: 50, steps: 720, seed: 7 };
const ROWS = SHAPE.hosts * SHAPE.steps;
const ROWS_PER_REQUEST = 3_000;
const QUESTIONS_PER_KIND = 3;

describe('the TSBS queries', () => {
  const data = generate(SHAPE);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  beforeEach(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });

  afterEach(async () => {
    await almanac.stop();
    cleanUp();
  });

  it("return the reference's results over rows in memory", async () => {
    await writeRows(almanac, data, 0, ROWS);
    await expectRightAnswers(almanac, data);
  });

  it("return the reference's results over flushed rows", async () => {
    await writeRows(almanac, data, 0, ROWS);
    await flush(almanac);
    await expectRightAnswers(almanac, data);
  });

  it("return the reference's results over rows of both kinds, some of them late or repeated", async () => {
    const third = ROWS / 3;
    await writeRows(almanac, data, 2 * third, ROWS);
    await flush(almanac);
    await writeRows(almanac, data, 0, third);
    await writeRows(almanac, data, third / 2, third);
    await flush(almanac);
    await writeRows(almanac, data, third - 5_000, 2 * third + 5_000);
    await expectRightAnswers(almanac, data);
  });
});

async function writeRows(almanac: Almanac, data: TsbsData, from: number, to: number): Promise<void> {
  const encoder = new LineEncoder(data);
  const out = new Uint8Array(encoder.bytesMax(ROWS_PER_REQUEST));
  const ends = new Float64Array(ROWS_PER_REQUEST);
  for (let row = from; row < to; row += ROWS_PER_REQUEST) {
    const bytes = encoder.encode(row, Math.min(to, row + ROWS_PER_REQUEST), out, ends);
    const { status, text } = await almanac.write(out.slice(0, bytes));
    expect(status, text).to.equal(204);
  }
}

async function flush(almanac: Almanac): Promise<void> {
  const { status, text } = await almanac.sql("ADMIN flush_table('cpu')");
  expect(status, text).to.equal(200);
}

async function expectRightAnswers(almanac: Almanac, data: TsbsData): Promise<void> {
  for (const kind of QUERY_KIND_NAMES) {
    for (const query of drawQueries(kind, data.shape, QUESTIONS_PER_KIND, 1)) {
      const sql = toSql(query);
      const { text } = await almanac.sql(sql);
      expect(checkQuery(query, data, text), sql).to.equal('');
    }
  }
}
