import { ClusterSimulation } from './cluster/cluster-simulation.js';
import { SeedFailure } from './cluster/seed-run.js';

const SEEDS = 100;
const SEEDS_PER_TEST = 20;
/** Lines of a failed run that are worth reading at once; `npm run simulate -- --cluster --seed N` shows the rest. */
const TRACE_LINES = 60;

describe('cluster simulation', function () {
  this.timeout(240_000);
  let simulation: ClusterSimulation;

  before(() => {
    simulation = new ClusterSimulation();
  });

  after(() => simulation.close());

  for (let first = 1; first <= SEEDS; first += SEEDS_PER_TEST) {
    it(`loses, doubles and hides nothing with seeds ${first} to ${first + SEEDS_PER_TEST - 1}`, async () => {
      for (let seed = first; seed < first + SEEDS_PER_TEST; seed++) {
        await simulation.run(seed).catch((error: unknown) => {
          if (!(error instanceof SeedFailure)) throw error;
          throw new Error(`${error.message}\n${error.trace.slice(-TRACE_LINES).join('\n')}`, { cause: error });
        });
      }
    });
  }
});
