import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** Statements of one script, in their order. */
export type SqlScript = readonly string[];

/** Reads the scripts of a folder and those below it. A statement ends with a semicolon at the end of a line. */
export function readScripts(folder: string): SqlScript[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => statementsOf(readFileSync(join(folder, file), 'utf8')));
}

function statementsOf(text: string): SqlScript {
  const code = text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('--'))
    .join('\n');
  return code
    .split(/;[ \t]*\n/)
    .map((statement) => statement.trim().replace(/;$/, ''))
    .filter((statement) => statement !== '');
}

/** Names, numbers, texts, blanks and single signs: what mutations take away, repeat and exchange. */
const TOKENS = /[A-Za-z_]\w*|\d+(?:\.\d+)?|'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\s+|./gs;

/** Values at which implementations break: limits of types, empty and long texts, control characters, texts of formats. */
const VALUES = [
  ...['0', '-1', '9223372036854775807', '-9223372036854775808', '18446744073709551616', '1e308', '1e-400', '0x'],
  ...["'NaN'::DOUBLE", "'-inf'::DOUBLE", 'NULL', "''", "'\u0000'", "'\ud83d'", "'%s%n'", "'1970-13-45 99:99:99'"],
  ...["'9999-12-31 23:59:59.999999999'::TIMESTAMP(9)", "INTERVAL '-178000000 years'", "X'zz'", "E'\\'", '$1', '?'],
  ...['\'{"a":[1,{"b":null}]}\'', '[1, NULL, []]', "repeat('x', 1000000)", 'now()', '*', '()', "'..'", "'/'"],
  "'".padEnd(70_000, 'ü') + "'",
];

/** Parts that reach for files in a folder, settings and commands of the engine. */
const FORBIDDEN = [
  ...["read_csv('FOLDER/secret.csv')", "read_text('FOLDER/secret.csv')", "'FOLDER/secret.csv'", "glob('FOLDER/*')"],
  ...["read_parquet('FOLDER/*')", "COPY t TO 'FOLDER/out.csv'", "COPY t FROM 'FOLDER/secret.csv'"],
  ...["ATTACH 'FOLDER/x.db'", "EXPORT DATABASE 'FOLDER/dump'", 'INSTALL httpfs', "SET temp_directory = 'FOLDER'"],
  ...["getenv('HOME')", 'PRAGMA database_list', 'CALL pragma_version()', 'CHECKPOINT', "LOAD 'FOLDER/x'"],
];

const NESTING = 3000;
const NESTED = [
  ['(', ')'],
  ['[', ']'],
  ['(SELECT ', ')'],
  ['CASE WHEN true THEN ', ' END'],
  ['abs(', ')'],
  ['NOT ', ''],
] as const;
const REPEATS = 2000;
const SIGNS = [0, 9, 34, 39, 59, 92, 96, 0x2028, 0xfeff, 0x1f4a9];

interface MutationContext {
  readonly scripts: readonly SqlScript[];
  readonly random: SeededRandom;
  readonly folder: string;
}

/** Changes tokens at one place. */
type Mutation = (tokens: string[], at: number, context: MutationContext) => void;

const MUTATIONS: readonly Mutation[] = [
  (tokens, at, { random }) => void tokens.splice(at, 1 + random.below(4)),
  (tokens, at, { random }) => void tokens.splice(at, 0, ...tokens.slice(at, at + 1 + random.below(8))),
  (tokens, at, { random }) => {
    const other = random.below(tokens.length);
    [tokens[at], tokens[other]] = [tokens[other], tokens[at]];
  },
  (tokens, at, { random }) => void (tokens[at] = random.pick(VALUES)),
  (tokens, at, { scripts, random }) => {
    const donor = random.pick(random.pick(scripts)).match(TOKENS) ?? [];
    const from = random.below(donor.length);
    tokens.splice(at, random.below(3), ' ', ...donor.slice(from, from + 1 + random.below(12)), ' ');
  },
  (tokens, at) => void (tokens.length = at),
  (tokens, at, { random, folder }) => void (tokens[at] = random.pick(FORBIDDEN).replace('FOLDER', folder)),
  (tokens, at, { random }) => {
    const [open, close] = random.pick(NESTED);
    const depth = 1 + random.below(NESTING);
    tokens[at] = open.repeat(depth) + tokens[at] + close.repeat(depth);
  },
  (tokens, at, { random }) => {
    const between = random.pick(['OR', 'AND', '+', ',', 'UNION ALL']);
    tokens[at] = `${tokens[at]} ${between} `.repeat(random.below(REPEATS)) + tokens[at];
  },
  (tokens, at, { random }) => void (tokens[at] = String.fromCodePoint(random.pick(SIGNS))),
];

/**
 * Changes a statement in one to four places: tokens are removed, repeated, exchanged, replaced by values at the limits or
 * by parts of other statements; texts are cut, nested deeply or repeated.
 */
export function mutate(statement: string, context: MutationContext): string {
  const { random } = context;
  let text = statement;
  for (let left = 1 + random.below(4); left > 0; left--) {
    const tokens: string[] = text.match(TOKENS) ?? [];
    if (tokens.length === 0) return text;
    random.pick(MUTATIONS)(tokens, random.below(tokens.length), context);
    text = tokens.join('');
  }
  return text;
}
