import { checkCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { QueryConnection } from '#shared/duckdb/query-connection';
import { quoteName } from '#shared/duckdb/quote';
import { dataType } from '#shared/schema/data-type';
import { columnOfLabel } from '#shared/schema/label-column';

import type { GivenTable } from '../system-tables/given-table.js';
import type { StatementContext } from '../statement.js';
import type { PromSession } from '../../promql/engine.js';
import type { InlinedQuery } from '../syntax/inline-tql.js';
import type { TqlResult } from './result.js';
import { runTql } from './run.js';
import type { TqlText } from '../syntax/tql-text.js';

/** Evaluates the TQL parts of a query into temporary tables of a connection, which exist until `drop`. */
export class InlinedTables {
  readonly given = new Map<string, GivenTable>();
  readonly #connection: QueryConnection;

  constructor(connection: QueryConnection) {
    this.#connection = connection;
  }

  async fill(parts: InlinedQuery['parts'], context: StatementContext): Promise<void> {
    if (parts.length === 0) return;
    const { deps, session, call, slot } = context;
    const samples = deps.promql.open(session.database, call, slot);
    try {
      for (const { name, text } of parts) await this.#fillOne(name, text, context, samples);
    } finally {
      samples.close();
    }
  }

  async drop(): Promise<void> {
    for (const { relation } of this.given.values()) await this.#connection.dropFilled(relation);
  }

  async #fillOne(name: string, text: TqlText, context: StatementContext, samples: PromSession): Promise<void> {
    const { result } = await runTql(text, context, samples);
    const table = tableOf(name, result);
    const relation = `temp.${quoteName(name)}`;
    this.given.set(name, { ...table, relation });
    await this.#connection.fill(name, table.columns, result.blocks(), async () => {
      await context.deps.clock.yield();
      checkCall(context.call);
    });
  }
}

/** Returns the result as a SQL table. */
function tableOf(name: string, { columns }: TqlResult): Table {
  const names = columnNames(columns.map((column) => column.name));
  return {
    ...{ tableId: 0, databaseId: 0, database: '', name, schemaVersion: 0, options: {}, regions: [], createdMs: 0 },
    primaryKey: [],
    ttl: '',
    columns: columns.map(({ type }, i) => ({
      id: i + 1,
      name: names[i],
      type: type.name,
      kind: dataType(type.name).timeUnit === undefined ? 'field' : 'time',
      ...{ nullable: true, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] },
    })),
  };
}

/**
 * Names that differ only by case are distinguished as labels are in columns. Where that is not enough (the name is taken by
 * another column, or a label has the name of the time column), `^` is appended to the later one.
 */
function columnNames(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name.toLowerCase(), (counts.get(name.toLowerCase()) ?? 0) + 1);
  const isUnique = (name: string): boolean => counts.get(name.toLowerCase()) === 1;
  const taken = new Set(names.filter(isUnique).map((name) => name.toLowerCase()));
  return names.map((name) => {
    if (isUnique(name)) return name;
    let own = columnOfLabel(name);
    while (taken.has(own)) own += '^';
    taken.add(own);
    return own;
  });
}
