// Records which statements do not match, grouped by reason: node update.mjs REPORT.json (of run.mjs --json).
// Raises the floor to the share that matches.
import { readFileSync, writeFileSync } from 'node:fs';

const file = (name) => new URL(name, import.meta.url);
const read = (name) => JSON.parse(readFileSync(name, 'utf8'));

const report = read(process.argv[2]);
const reasons = read(file('reasons.json')).map(({ reason, pattern }) => ({ reason, pattern: new RegExp(pattern, 'i') }));
const groups = Object.fromEntries(reasons.map(({ reason }) => [reason, {}]));
let total = 0;
let matched = 0;
for (const { name, statements, ...counts } of report.cases) {
  total += counts.total;
  matched += counts.matched;
  for (const { i, ok, na, why, sql } of statements) {
    if (ok || na !== undefined) continue;
    const text = `${name} | ${why} | ${(sql ?? '').replaceAll(/\s+/g, ' ')}`;
    const { reason } = reasons.find(({ pattern }) => pattern.test(text));
    (groups[reason][name] ??= []).push(i);
  }
}
const used = Object.entries(groups).filter(([, cases]) => Object.keys(cases).length > 0);
const lines = used.map(([reason, cases]) => {
  const entries = Object.entries(cases).map(([name, numbers]) => `    ${JSON.stringify(name)}: ${JSON.stringify(numbers)}`);
  return `  ${JSON.stringify(reason)}: {\n${entries.join(',\n')}\n  }`;
});
writeFileSync(file('mismatches.json'), `{\n${lines.join(',\n')}\n}\n`);
const floor = Math.floor((1000 * matched) / total) / 10;
writeFileSync(file('../floor.json'), `{ "promqltest": ${read(file('../floor.json')).promqltest}, "sqlness": ${floor} }\n`);
console.log(`${matched} of ${total} statements match, floor ${floor} %`);
