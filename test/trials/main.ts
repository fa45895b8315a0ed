import { readdirSync } from 'node:fs';

/** `npm run trial -- NAME [arguments]`: runs one of the long trials in this folder; without a name it lists them. */
const [name] = process.argv.splice(2, 1);
const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.js') && file !== 'main.js')
  .map((file) => file.slice(0, -'.js'.length));
if (names.includes(name)) {
  await import(`./${name}.js`);
} else {
  process.stderr.write(`usage: npm run trial -- NAME [arguments]; NAME is one of ${names.join(', ')}\n`);
  process.exitCode = 2;
}
