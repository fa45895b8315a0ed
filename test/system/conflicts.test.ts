import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const TIME = 'almanac_timestamp';
const V2 = '/v1/lineproto/api/v2/write';

describe('schemas under concurrent writers', () => {
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });

  beforeEach(() => almanac.dropTables());

  after(async () => {
    await almanac.stop();
    cleanUp();
  });

  async function rows(statement: string, database = 'public'): Promise<unknown[][]> {
    const { status, text, rows: found } = await almanac.sql(statement, { db: database });
    expect(status, text).to.equal(200);
    return found;
  }

  async function accepts(lines: string, parameters = ''): Promise<void> {
    const { status, text } = await almanac.write(lines, parameters);
    expect(status, text).to.equal(204);
  }

  async function refuses(lines: string, status: number, reason: string, parameters = ''): Promise<void> {
    const answer = await almanac.write(lines, parameters);
    expect(answer.status, answer.text).to.equal(status);
    expect((JSON.parse(answer.text) as { error: string }).error).to.contain(reason);
  }

  describe('types', () => {
    it('follow the first values of a request; rows with other types are rejected and reported', async () => {
      const answer = await almanac.write('m v=1i 1\nm v=2.5 2\nm v=3i 3\nm v="x",w=1 4');
      expect(answer.status).to.equal(400);
      expect(answer.text).to.contain(
        'input field \\"v\\" on measurement \\"m\\" is type float, already exists as type integer',
      );
      expect(answer.text).to.contain('dropped=2');
      expect(await rows(`SELECT v FROM m ORDER BY ${TIME}`)).to.deep.equal([[1], [3]]);
    });

    it('of a table take precedence over those of a request, in memory and in segments', async () => {
      await accepts('m v=1.5 1');
      await refuses('m v=2i 2', 400, 'is type integer, already exists as type float');
      await rows("ADMIN flush_table('m')");
      await refuses('m v="text" 3\nm v=t 4', 400, 'already exists as type float');
      await refuses('m,v=tag w=1 5', 400, 'input tag "v" on measurement "m" is already a field');
      await accepts('m,h=a v=4 6');
      await refuses('m h=1 7', 400, 'input field "h" on measurement "m" is already a tag');
      await refuses(`m ${TIME}=1 8`, 400, 'time index');
      expect(await rows(`SELECT v FROM m ORDER BY ${TIME}`)).to.deep.equal([[1.5], [4]]);
    });

    it('are reported by the v2 endpoint too, which stores the rows that fit', async () => {
      await accepts('m v=1i 1');
      const { status, text } = await almanac.post(V2, 'm v=2i 2\nm v=2.5 3');
      expect(status, text).to.equal(422);
      expect(text).to.contain('partial write').and.to.contain('dropped=1');
      expect(await rows(`SELECT v FROM m ORDER BY ${TIME}`)).to.deep.equal([[1], [2]]);
    });
  });

  describe('letter case', () => {
    it('does not distinguish columns: rows with the second name are rejected, the others of the request are stored', async () => {
      await accepts('m,Host=a Usage=1 1');
      const name = 'columns "Usage" and "usage" of table "m" differ only by letter case';
      await refuses('good v=1 1\nm,Host=a usage=2 2\nm,Host=a Usage=3 3\nother v=2 1', 400, name);
      await refuses('m,host=a Usage=4 4\nm Usage=5 5', 400, 'columns "Host" and "host" of table "m"');
      await refuses(`m ${TIME.toUpperCase()}=1,Usage=1 6`, 400, 'differ only by letter case');
      await refuses('fresh Ab=1,aB=2 1\nfresh Ab=3 2', 400, 'columns "Ab" and "aB" of table "fresh"');
      const answer = await almanac.post(V2, 'm,Host=a x=1 7\nm,hosT=a x=2 8');
      expect([answer.status, /dropped=\d+/.exec(answer.text)?.[0]]).to.deep.equal([422, 'dropped=1']);
      expect(await rows(`SELECT Usage FROM m WHERE Usage IS NOT NULL ORDER BY ${TIME}`)).to.deep.equal([[1], [3], [5]]);
      expect(await rows('SELECT x FROM m WHERE x IS NOT NULL')).to.deep.equal([[1]]);
      expect(await rows('SELECT v FROM good')).to.deep.equal([[1]]);
      expect(await rows('SELECT v FROM other')).to.deep.equal([[2]]);
      expect(await rows('SELECT Ab FROM fresh')).to.deep.equal([[3]]);
    });
  });

  it('adds the new tags and fields of many concurrent writers, and loses nothing', async () => {
    const writers = 8;
    const rounds = 15;
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        for (let round = 0; round < rounds; round++) {
          const tag = round % 3 === 0 ? `,tag${writer}_${round}=x` : '';
          await accepts(`m,w=${writer}${tag} n=1i,f${writer}_${round}=${round}i,shared${round}=1i ${round + 1}`);
        }
      }),
    );
    expect(await rows('SELECT count(*), sum(n) FROM m')).to.deep.equal([[writers * rounds, writers * rounds]]);
    for (let round = 0; round < rounds; round += 4) {
      expect(await rows(`SELECT sum(shared${round}), sum(f3_${round}) FROM m`)).to.deep.equal([[writers, round]]);
    }
    expect(await rows("SELECT w, n FROM m WHERE tag5_3 = 'x'")).to.deep.equal([['5', 1]]);
    const columns = (await rows('DESCRIBE m')).map(([name]) => name);
    expect(columns).to.have.length(1 + writers * 5 + 1 + writers * rounds + rounds + 1);
    expect(new Set(columns)).to.have.property('size', columns.length);
  });

  it('DROP TABLE under writers: only documented replies, and no old row returns', async () => {
    const isDone = { now: false };
    const answers = new Set<string>();
    let generation = 0;
    let sent = 0;
    const write = async (writer: number): Promise<void> => {
      while (!isDone.now) {
        const number = sent++;
        const { status, text } = await almanac.write(
          `m,w=${writer} generation=${generation}i,n=${number}i ${number + 1}`,
        );
        answers.add(`${status} ${text}`);
      }
    };
    const drop = async (): Promise<void> => {
      for (let round = 0; round < 15; round++) {
        await accepts(`m,w=main generation=${generation}i 1`);
        if (round % 3 === 0) await rows("ADMIN flush_table('m')");
        await rows('SELECT count(*) FROM m');
        // What is sent from here on may be kept by the table of the next generation.
        generation++;
        await rows('DROP TABLE IF EXISTS m');
      }
      isDone.now = true;
    };
    await Promise.all([drop(), ...[1, 2, 3].map(write)]);
    expect([...answers]).to.deep.equal(['204 ']);
    await accepts('m,w=last generation=100i 1');
    // A request that was under way at the last DROP carries the number before it, and may be in the new table.
    const [[least]] = await rows('SELECT min(generation) FROM m');
    expect(least).to.be.at.least(generation - 1);
    await rows('DROP TABLE m');
    expect((await almanac.sql('SELECT * FROM m')).status).to.equal(400);
    await accepts('m other="text" 1');
    expect(await rows('SELECT * FROM m')).to.deep.equal([['text', 1]]);
  });

  it('does not create tables in a database that does not exist', async () => {
    await refuses('m v=1 1', 404, 'database not found: "nowhere"', 'db=nowhere');
    const { status, text } = await almanac.post(`${V2}?bucket=nowhere`, 'm v=1 1');
    expect([status, JSON.parse(text)]).to.deep.equal([
      404,
      { code: 'not found', message: 'bucket "nowhere" not found', error: 'bucket "nowhere" not found' },
    ]);
    await rows('CREATE DATABASE nowhere');
    await accepts('m v=1 1', 'db=nowhere');
    expect(await rows('SELECT v FROM m', 'nowhere')).to.deep.equal([[1]]);
    await rows('DROP DATABASE nowhere');
    await refuses('m v=1 1', 404, 'database not found', 'db=nowhere');
  });

  it('accepts times in every precision', async () => {
    const precisions = { n: 1n, ns: 1n, u: 1_000n, us: 1_000n, ms: 1_000_000n, s: 1_000_000_000n };
    for (const [precision, unit] of Object.entries({ ...precisions, m: 60_000_000_000n, h: 3_600_000_000_000n })) {
      const table = `t_${precision}`;
      await accepts(`${table} v=1 7\n${table} v=2 -7`, `precision=${precision}`);
      const found = await almanac.sql(`SELECT ${TIME} FROM ${table} ORDER BY v`);
      expect(found.text, precision).to.contain(`[[${7n * unit}],[${-7n * unit}]]`);
    }
    await refuses('m v=1 1', 400, 'invalid precision "days"', 'precision=days');
  });

  it('accepts times at the ends of the range, and refuses those beyond', async () => {
    const most = 9_223_372_036_854_775_806n;
    await accepts(`m v=1 ${most}\nm v=2 ${-most}`);
    await refuses(`m v=3 ${most + 1n}`, 400, 'time outside range');
    await refuses(`m v=4 ${-most - 1n}`, 400, 'time outside range');
    await refuses('m v=5 9223372037', 400, 'time outside range', 'precision=s');
    for (const flush of [false, true]) {
      if (flush) await rows("ADMIN flush_table('m')");
      const { text } = await almanac.sql(`SELECT v, ${TIME} FROM m ORDER BY ${TIME}`);
      expect(text).to.contain(`[[2.0,${-most}],[1.0,${most}]]`);
      expect(await rows(`SELECT v FROM m WHERE ${TIME} > '2200-01-01'`)).to.deep.equal([[1]]);
      expect(await rows(`SELECT v FROM m WHERE ${TIME} < '1700-01-01'`)).to.deep.equal([[2]]);
    }
  });
});
