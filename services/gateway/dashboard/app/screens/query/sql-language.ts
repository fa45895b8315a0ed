import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { PostgreSQL, sql, SQLDialect } from '@codemirror/lang-sql';
import type { Extension } from '@codemirror/state';

import { readSchema, schema, type DatabaseSchema } from '../../data/schema.js';
import type { SchemaTable } from '../../data/table-schema.js';
import { database, sqlRows } from '../../data/sql.js';
import { statementAt } from '../../data/statements.js';

/** Words of Almanac beyond those of PostgreSQL. */
const WORDS =
  'range align fill tql eval analyze explain admin describe desc show kill flow flows pipeline pipelines ttl engine partition time index';

const dialect = SQLDialect.define({ ...PostgreSQL.spec, keywords: `${PostgreSQL.spec.keywords ?? ''} ${WORDS}` });

/** Returns SQL with completion of tables, columns and functions of the server. */
export function sqlLanguage(): Extension {
  const language = sql({ dialect, upperCaseKeywords: true });
  return [language, language.language.data.of({ autocomplete: completeName })];
}

let functions: Promise<readonly Completion[]> | undefined;

/** Completes names of the schema. Words of the language come from the library, also while the server does not reply. */
async function completeName(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[\w"]*/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const read = readSchema(database());
  // The last schema is good enough while a newer one is read.
  if (schema.peek()?.database !== database()) await Promise.race([read, timeout()]);
  const current = schema.peek();
  if (current === undefined || context.aborted) return null;
  functions ??= readFunctions();
  const all = await Promise.race([functions, timeout()]);
  const text = context.state.doc.toString();
  const before = /(?:(\w+)|"([^"]+)")\.$/.exec(text.slice(0, word.from));
  const statement = statementAt(text, context.pos)?.text ?? text;
  const options = before === null ? namesOf(current, statement) : columnsOf(current, statement, before[1] ?? before[2]);
  return { from: word.from, options: before === null ? [...options, ...(all ?? [])] : options, validFor: /^[\w"]*$/ };
}

const LOOKUP_MS_MAX = 2000;

function timeout(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), LOOKUP_MS_MAX));
}

async function readFunctions(): Promise<readonly Completion[]> {
  try {
    const rows = await sqlRows<{ name: string; definition: string; help: string }>(
      'SELECT routine_name AS name, routine_definition AS definition, routine_comment AS help FROM information_schema.routines',
    );
    return rows.map(({ name, definition, help }): Completion => {
      const detail = definition.slice(name.length);
      return { label: name, type: 'function', apply: `${name}(`, detail, ...(help !== '' && { info: help }) };
    });
  } catch {
    functions = undefined;
    return [];
  }
}

/** Columns of the tables that the statement names come first, then tables. */
function namesOf({ tables }: DatabaseSchema, statement: string): Completion[] {
  const named = tables.filter(({ name }) => isNamed(statement, name));
  return [
    ...named.flatMap((table) => columnCompletions(table, 2)),
    ...tables.map(({ name, columns }): Completion => {
      return { label: name, apply: written(name), type: 'class', detail: `${columns.length} columns`, boost: 1 };
    }),
  ];
}

/** Columns after `name.`, of a table or of its alias. */
function columnsOf({ tables }: DatabaseSchema, statement: string, name: string): Completion[] {
  const aliased = tables.find((table) =>
    new RegExp(`\\b${escaped(table.name)}"?\\s+(?:as\\s+)?${escaped(name)}\\b`, 'i').test(statement),
  );
  const table = aliased ?? tables.find((other) => other.name === name);
  return table === undefined ? [] : columnCompletions(table, 0);
}

function columnCompletions({ columns }: SchemaTable, boost: number): Completion[] {
  return columns.map(({ name, type, role }) => {
    return { label: name, apply: written(name), type: 'property', detail: `${type} ${role}`, boost };
  });
}

function isNamed(statement: string, table: string): boolean {
  return new RegExp(`(^|[^\\w])${escaped(table)}([^\\w]|$)`).test(statement);
}

/** Returns a name as it is written in a statement: in quotes if it needs them. */
function written(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
