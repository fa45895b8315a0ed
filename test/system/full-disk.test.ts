import { randomBytes } from 'node:crypto';

import { expect } from 'chai';

import { Almanac, pollUntil } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';
import { TinyDisk } from '#test/support/tiny-disk';

const WRITERS = 4;
const BODY_ROWS = 200;
/** Of incompressible text in each row, so that segments take as much space as the log. */
const TEXT_BYTES = 768;
/** Longest time from more space to the first accepted write. */
const HEAL_MS_MAX = 5_000;

/** Concurrent writers of numbered bodies. No body is sent twice, so each may be stored once at most. */
class Load {
  readonly acknowledged = new Set<number>();
  readonly refused = new Set<number>();
  readonly #almanac: Almanac;
  #nextBody = 0;

  constructor(almanac: Almanac) {
    this.#almanac = almanac;
  }

  /** Writes until `isDone` says so after a body. */
  async run(isDone: () => boolean): Promise<void> {
    const writer = async (): Promise<void> => {
      while (!isDone()) await this.send();
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
  }

  /** @returns the status of the response. */
  async send(): Promise<number> {
    const body = this.#nextBody++;
    const rows = Array.from({ length: BODY_ROWS }, (_, row) => {
      const text = randomBytes(TEXT_BYTES)
        .toString('latin1')
        .replace(/[\\"\n\r]/g, '.');
      // New series come all the time: their definitions are in records that fail, too.
      return `load,host=h${body % 500} body=${body}i,row=${row}i,text="${text}" ${body * BODY_ROWS + row + 1}`;
    });
    const { status, text } = await this.#almanac.write(Buffer.from(rows.join('\n')));
    if (status === 204) this.acknowledged.add(body);
    else {
      expect(status, text).to.equal(503);
      this.refused.add(body);
    }
    return status;
  }

  /** Every acknowledged row is there once, and no other row more than once. */
  async check(almanac: Almanac): Promise<void> {
    const counts = await almanac.rows('SELECT body, count(*), count(DISTINCT row) FROM load GROUP BY body');
    const rowsOf = new Map(counts.map(([body, rows, distinct]) => [Number(body), [Number(rows), Number(distinct)]]));
    const lost = [...this.acknowledged].filter((body) => rowsOf.get(body)?.[1] !== BODY_ROWS);
    const doubled = [...rowsOf].filter(([, [rows, distinct]]) => rows !== distinct);
    expect({ lost, doubled }).to.deep.equal({ lost: [], doubled: [] });
    expect([...rowsOf.keys()].filter((body) => !this.acknowledged.has(body) && !this.refused.has(body))).to.be.empty;
  }
}

describe('a server on a disk that fills up', function () {
  this.timeout(240_000);
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it('refuses writes, serves reads, accepts writes once there is space, and keeps every acknowledged row', async () => {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const disk = await TinyDisk.mount(folder, 128);
    cleanUps.push(() => disk.unmount());
    let almanac = await Almanac.start(folder, { through: disk.through });
    cleanUps.push(() => almanac.kill());
    await almanac.rows(
      `CREATE TABLE load (ts TIMESTAMP(9) TIME INDEX, host STRING, body BIGINT, "row" BIGINT, text STRING, PRIMARY KEY (host))
       WITH ('append_mode' = 'true')`,
    );
    const load = new Load(almanac);

    for (const [round, mebibytes] of [192, 256].entries()) {
      const refusals = load.refused.size + 3 * WRITERS;
      await load.run(() => load.refused.size >= refusals);
      const [[count]] = await almanac.rows('SELECT count(*) FROM load');
      expect(Number(count)).to.be.at.least(load.acknowledged.size * BODY_ROWS);
      expect((await almanac.get('/v1/influxdb/health')).status).to.equal(503);
      expect((await almanac.get('/metrics')).text).to.match(/^almanac_ingester_wal_full 1$/m);

      await disk.grow(mebibytes);
      const grownMs = performance.now();
      const isAccepted = async (): Promise<boolean> => (await load.send()) === 204;
      expect(await pollUntil(grownMs + HEAL_MS_MAX, isAccepted), `round ${round}`).to.equal(true);
      expect(performance.now() - grownMs).to.be.lessThan(HEAL_MS_MAX);
      expect((await almanac.get('/v1/influxdb/health')).status).to.equal(200);
      expect((await almanac.get('/metrics')).text).to.match(/^almanac_ingester_wal_full 0$/m);
      const acknowledged = load.acknowledged.size + 20;
      await load.run(() => load.acknowledged.size >= acknowledged);
      await load.check(almanac);
    }

    await almanac.kill();
    almanac = await Almanac.start(folder, { through: disk.through });
    await load.check(almanac);
    expect(await almanac.stop()).to.equal(0);
  });
});
