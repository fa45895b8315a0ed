import { bigBodies } from '#test/support/big-bodies';
import { tempFolder } from '#test/support/temp-folder';

/** `npm run trial -- big-bodies [bodies] [MB]`: how long `/health` takes while such bodies arrive, plain and compressed. */
const bodies = Number(process.argv[2] ?? 4);
const bytesPerBody = Number(process.argv[3] ?? 60) * 1_000_000;
for (const encoding of ['identity', 'gzip'] as const) {
  const cleanUps: (() => void)[] = [];
  const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
  const figures = await bigBodies(folder, { bodies, bytesPerBody, encoding });
  process.stdout.write(`${encoding}: ${JSON.stringify(figures)}\n`);
  for (const cleanUp of cleanUps) cleanUp();
}
