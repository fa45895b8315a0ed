import { Almanac } from '#test/support/almanac';
import { peakMemoryMib } from '#test/support/process-figures';
import { tempFolder } from '#test/support/temp-folder';

/** `npm run trial -- start-time [starts]`: time from the start of the process to `/ready`, on an empty folder each time. */
const starts = Number(process.argv[2] ?? 5);
const milliseconds: number[] = [];
for (let i = 0; i < starts; i++) {
  const cleanUps: (() => void)[] = [];
  const startMs = performance.now();
  const almanac = await Almanac.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
  milliseconds.push(Math.round(performance.now() - startMs));
  const memoryMib = Math.round(peakMemoryMib(almanac.pid));
  process.stdout.write(`ready after ${milliseconds[i]} ms, ${memoryMib} MiB\n`);
  await almanac.stop();
  for (const cleanUp of cleanUps) cleanUp();
}
milliseconds.sort((a, b) => a - b);
process.stdout.write(`median ${milliseconds[Math.floor(starts / 2)]} ms\n`);
