import { rollingRestart } from '#test/support/rolling-restart';
import { tempFolder } from '#test/support/temp-folder';

/** `npm run trial -- rolling-restart [turns] [secured]`: restarts every process of a cluster under load, again and again, with TLS and users if wanted. */
const turns = Number(process.argv[2] ?? '3');
const isSecured = process.argv[3] === 'secured';
let cleanUp: () => void = () => undefined;
const folder = tempFolder((after) => (cleanUp = after));
try {
  process.stdout.write(`${JSON.stringify(await rollingRestart(folder, { turns, isSecured }), undefined, 2)}\n`);
} finally {
  cleanUp();
}
