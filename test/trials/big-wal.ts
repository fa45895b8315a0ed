import { bigWal } from '#test/support/big-wal';
import { tempFolder } from '#test/support/temp-folder';

/**
 * `npm run trial -- big-wal [MiB] [memory.limit]`: duration and memory of a start with a long log whose rows are in no
 * segment.
 */
const mebibytes = Number(process.argv[2] ?? 1024);
const limit = process.argv[3];
const cleanUps: (() => void)[] = [];
const figures = await bigWal(
  tempFolder((cleanUp) => cleanUps.push(cleanUp)),
  mebibytes * 1024 * 1024,
  limit === undefined ? {} : { ALMANAC_MEMORY__LIMIT: limit },
);
for (const cleanUp of cleanUps) cleanUp();
for (const answer of figures.answers) process.stdout.write(`/ready: ${JSON.stringify(answer)}\n`);
const { answers: _, ...rest } = figures;
process.stdout.write(`${JSON.stringify(rest)}\n`);
