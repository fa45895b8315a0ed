import { Almanac, MERGES_BY_HAND, type AlmanacOptions } from '#test/support/almanac';
import { expectExact, RandomChanges } from '#test/support/flow-changes';
import { tempFolder } from '#test/support/temp-folder';

/** Flows that look for changes on request only, or at an interval. */
function flowsEvery(interval: string): AlmanacOptions {
  return { environment: { ...MERGES_BY_HAND.environment, ALMANAC_STANDALONE__FLOW__INTERVAL: interval } };
}

const PAUSED = flowsEvery('1d');
const OFTEN = flowsEvery('50ms');

describe('flows of a server that is killed', function () {
  this.timeout(240_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  async function start(options: AlmanacOptions): Promise<void> {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder, options);
  }

  async function restart(options: AlmanacOptions): Promise<void> {
    await almanac.kill();
    almanac = await Almanac.start(folder, options);
  }

  afterEach(async () => {
    await almanac.kill();
    cleanUp();
  });

  for (const seed of [1, 2, 3]) {
    it(`have exact sinks after random changes and crashes, seed ${seed}`, async () => {
      await start(PAUSED);
      const changes = new RandomChanges(seed);
      await changes.createTables(almanac);
      const history: string[] = [];
      for (let round = 0; round < 25; round++) {
        const count = 1 + Math.floor(changes.random.fraction() * 6);
        for (let i = 0; i < count; i++) history.push(await changes.change(almanac));
        if (changes.random.fraction() < 0.2) {
          history.push('kill');
          await restart(PAUSED);
        }
        await expectExact(almanac, history);
      }
    });
  }

  it('have exact sinks if it is killed while they run', async () => {
    await start(OFTEN);
    const changes = new RandomChanges(4);
    await changes.createTables(almanac);
    const history: string[] = [];
    for (let round = 0; round < 8; round++) {
      for (let i = 0; i < 8; i++) history.push(await changes.change(almanac));
      history.push('kill');
      await restart(OFTEN);
    }
    await expectExact(almanac, history);
  });
});
