import { dirname, join, normalize } from 'node:path';

import { expect } from 'chai';

import { CONFIG_SCHEMA } from '#services/cli/config-schema';
import { ERROR_CODES } from '#shared/errors/codes';

import { readText, repositoryFiles } from './tree.js';

const FILES_PER_FOLDER_MAX = 25;
/** Requests whose files ARCHITECTURE.md names, the heading, and the largest number of files. */
const WALKS = [
  ['a write', 'One write', 13],
  ['a SQL query', 'One SQL query', 16],
  ['a PromQL query', 'One PromQL query', 16],
] as const;

const files = repositoryFiles();
const product = files.filter((path) => /^(services|shared)\/.*\.tsx?$/.test(path));

/** Files of the repository that a source imports. */
function importsOf(path: string): string[] {
  return [...readText(path).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].flatMap(([, target]) => {
    if (target.startsWith('.')) {
      const source = normalize(join(dirname(path), target)).replace(/\.js$/, '.ts');
      return [files.includes(`${source}x`) ? `${source}x` : source];
    }
    return target.startsWith('#') ? [`${target.slice(1)}.ts`] : [];
  });
}

const imports = new Map(product.map((path) => [path, importsOf(path)]));

describe('structure', () => {
  it('has no product folder with more than 25 files', () => {
    const counts = new Map<string, number>();
    for (const path of product) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > FILES_PER_FOLDER_MAX)).to.deep.equal([]);
  });

  it('has no folders that import each other, except a folder and its parents', () => {
    const edges = new Set(
      [...imports].flatMap(([path, targets]) => targets.map((target) => `${dirname(path)} ${dirname(target)}`)),
    );
    const mutual = [...edges].filter((edge) => {
      const [from, to] = edge.split(' ');
      const isRelated = `${from}/`.startsWith(`${to}/`) || `${to}/`.startsWith(`${from}/`);
      return from < to && !isRelated && edges.has(`${to} ${from}`);
    });
    expect(mutual).to.deep.equal([]);
  });

  it('has one docstring a declaration', () => {
    // A docstring of a whole file is separated from the next one by an empty line.
    expect(product.filter((path) => /\*\/\n *\/\*\*/.test(readText(path)))).to.deep.equal([]);
  });

  it('has a different number for each error code', () => {
    const numbers = Object.values(ERROR_CODES).map(({ number }) => number);
    expect(new Set(numbers).size).to.equal(numbers.length);
  });

  // The dashboard is a program of its own, which imports nothing of the server.
  const isOfDashboard = (path: string): boolean => path.startsWith('services/gateway/dashboard/app/');
  const programs = [
    ['the server', product.filter((path) => !isOfDashboard(path))],
    ['the dashboard', product.filter(isOfDashboard)],
  ] as const;

  for (const [program, sources] of programs) {
    it(`declares each exported name in one file of ${program}`, () => {
      const declared = new Map<string, string[]>();
      for (const path of sources.filter((file) => !file.includes('/contracts/gen/'))) {
        const names = readText(path).matchAll(
          /^export (?:declare |abstract |async )*(?:class|const|function\*?|interface|type) +(\w+)/gm,
        );
        for (const name of new Set([...names].map((match) => match[1]))) {
          declared.set(name, [...(declared.get(name) ?? []), path]);
        }
      }
      expect([...declared].filter(([, paths]) => paths.length > 1)).to.deep.equal([]);
    });
  }

  it('has a file for every dependency rule to match', async () => {
    // A configuration, not a part of the program.
    const { default: config } = (await import(join(process.cwd(), '.dependency-cruiser.mjs'))) as {
      default: { forbidden: readonly { name: string; from: { path?: string }; to: { path?: string } }[] };
    };
    const matchesNothing = (pattern: string | undefined): boolean => {
      if (pattern === undefined || pattern.includes('node_modules') || pattern.includes('node:')) return false;
      const open = pattern.replaceAll(/\$\d/g, '[^/]+');
      return !files.some((path) => new RegExp(open).test(path));
    };
    const dead = config.forbidden.filter(({ from, to }) => matchesNothing(from.path) || matchesNothing(to.path));
    expect(dead.map(({ name }) => name)).to.deep.equal([]);
  });

  for (const [request, heading, filesMax] of WALKS) {
    it(`names at most ${filesMax} files that ${request} passes, each of which another one reaches`, () => {
      const page = readText('ARCHITECTURE.md');
      const start = page.indexOf(`## ${heading}`);
      const section = page.slice(start, page.indexOf('\n## ', start + 1));
      const rows = section.split('\n').filter((line) => line.startsWith('|') && line.includes('`'));
      const walk = rows.slice(0, rows.findIndex((line) => /\breply\b/.test(line.split('|')[1])) + 1);
      const named = [
        ...new Set(walk.flatMap((line) => [...line.split('|')[2].matchAll(/`([^`]+\.ts)`/g)].map((m) => m[1]))),
      ];
      expect(named.length, named.join(', ')).to.be.within(1, filesMax);
      // A service is entered through its contract, a protocol through its record. Other steps are imported by a step, or by
      // the `index.ts` that passes them to one.
      const isReached = (path: string, at: number): boolean => {
        const isEntry = !named.slice(0, at).some((other) => other.split('/')[1] === path.split('/')[1]);
        const importers = [...named, `${dirname(path)}/index.ts`, `${path.split('/').slice(0, 2).join('/')}/index.ts`];
        return isEntry || importers.some((other) => imports.get(other)?.includes(path) === true);
      };
      expect(named.filter((path, at) => !files.includes(path) || !isReached(path, at))).to.deep.equal([]);
    });
  }

  it('has no function of a query that is sometimes asynchronous', () => {
    // The unit of an evaluation is synchronous, and a scheduler decides between units whether to yield.
    const querier = product.filter((path) => path.startsWith('services/querier/'));
    expect(
      querier.filter((path) => /\bvoid \| Promise<void>|\bPromise<void> \| void\b/.test(readText(path))),
    ).to.deep.equal([]);
  });
});

describe('tables in the source', () => {
  const sources = product.map((path) => [path, readText(path)] as const);

  it('have no error code that is never thrown', () => {
    const unused = Object.keys(ERROR_CODES).filter(
      (code) => !sources.some(([path, text]) => path !== 'shared/errors/codes.ts' && text.includes(`'${code}'`)),
    );
    expect(unused).to.deep.equal([]);
  });

  it('have no configuration key that nothing reads', () => {
    const readers = sources.filter(([path]) => path !== 'shared/config/keys.ts').map(([, text]) => text);
    const isRead = (property: string, path: string): boolean =>
      readers.some((text) => new RegExp(`\\b${property}\\b`).test(text) || text.includes(`'${path}'`));
    const unread = CONFIG_SCHEMA.entries.filter(({ property, path }) => !isRead(property, path));
    expect(unread.map(({ path }) => path)).to.deep.equal([]);
  });
});

describe('hot modules', () => {
  const HOT = [
    'services/gateway/protocols/lineproto/decode.ts',
    'services/gateway/protocols/remotewrite/decoder.ts',
    'services/ingester/wal/record.ts',
    'services/querier/promql/index.ts',
    'services/querier/sql/syntax/lex.ts',
    'shared/bytes/hash64.ts',
    'shared/bytes/parse-number.ts',
    'shared/formats/json.ts',
    'shared/histogram/histogram-bytes.ts',
    'shared/rowbatch/arrow.ts',
  ];

  it('each have a micro-benchmark at the same path', () => {
    const missing = HOT.filter((path) => !files.includes(`test/bench/micro/${path.replace(/^services\//, '')}`));
    expect(missing).to.deep.equal([]);
  });
});
