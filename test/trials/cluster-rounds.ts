import { clusterRounds } from '#test/support/cluster-rounds';
import { tempFolder } from '#test/support/temp-folder';

/** `npm run trial -- cluster-rounds [rounds] [seed]`: processes of a cluster break and come back while rows are written and read. */
const rounds = Number(process.argv[2] ?? 50);
const seed = Number(process.argv[3] ?? 1);
const cleanUps: (() => void)[] = [];
const summary = await clusterRounds(
  tempFolder((cleanUp) => cleanUps.push(cleanUp)),
  { rounds, seed },
);
for (const cleanUp of cleanUps) cleanUp();
process.stdout.write(`${JSON.stringify(summary)}\n`);
