import { parseArgs } from 'node:util';

import { Containers } from '#test/support/containers';
import { containersTrial } from '#test/support/containers-trial';
import { freePort } from '#test/support/free-port';
import { tempFolder } from '#test/support/temp-folder';

/** `npm run trial -- containers [--no-build] [--keep]`: the cluster of docker-compose.yml in containers breaks and comes back. */
const { values } = parseArgs({ options: { 'no-build': { type: 'boolean' }, keep: { type: 'boolean' } } });
const cleanUps: (() => void)[] = [];
const sinceMs = performance.now();
const say = (text: string): void => {
  process.stdout.write(`${((performance.now() - sinceMs) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
};
const containers = await Containers.find({
  project: 'almanac-trial',
  httpPort: await freePort(),
  metadataPort: await freePort(),
  folder: tempFolder((cleanUp) => cleanUps.push(cleanUp)),
  tag: 'trial',
});
try {
  await containersTrial(containers, { build: values['no-build'] !== true, say });
  say('no row was lost, doubled or missing from an answer');
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  say(await containers.compose('logs', '--tail', '60').catch(String));
  process.exitCode = 1;
} finally {
  if (values.keep !== true) await containers.removeAll();
  for (const cleanUp of cleanUps) cleanUp();
}
