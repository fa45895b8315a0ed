import { rollingRestart } from '#test/support/rolling-restart';
import { tempFolder } from '#test/support/temp-folder';

/** `npm run trial -- rolling-restart [turns]`: restarts every process of a cluster under load, again and again. */
const turns = Number(process.argv[2] ?? '3');
let cleanUp: () => void = () => undefined;
const folder = tempFolder((after) => (cleanUp = after));
try {
  process.stdout.write(`${JSON.stringify(await rollingRestart(folder, { turns }), undefined, 2)}\n`);
} finally {
  cleanUp();
}
