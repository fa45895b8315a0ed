import { crashRounds } from '#test/support/crash-rounds';
import { tempFolder } from '#test/support/temp-folder';

/** `npm run trial -- crash-rounds [rounds] [seed]`: the long form of the crash test. */
const rounds = Number(process.argv[2] ?? 50);
const seed = Number(process.argv[3] ?? 1);
const cleanUps: (() => void)[] = [];
const summary = await crashRounds(
  tempFolder((cleanUp) => cleanUps.push(cleanUp)),
  { rounds, seed },
);
for (const cleanUp of cleanUps) cleanUp();
process.stdout.write(`${JSON.stringify(summary)}\n`);
