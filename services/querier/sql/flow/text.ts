import type { Flow, FlowSpec } from '#shared/contracts/gen/metadata';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { lexSql } from '../syntax/lex.js';

import { normalisedQuery } from './query.js';

const PLAIN_NAME = /^[a-z_][a-z0-9_]*$/;

/** Returns the statement that creates a flow like this one. */
export function createFlowSql(spec: FlowSpec): string {
  const tokens = lexSql(spec.query);
  const options = Object.keys(spec.options).sort();
  const lines = [
    `CREATE FLOW IF NOT EXISTS ${nameSql(spec.name)}`,
    `SINK TO ${nameSql(spec.sinkDatabase)}.${nameSql(spec.sinkTable)}`,
    ...(spec.expireAfter === '' ? [] : [`EXPIRE AFTER ${spec.expireAfter}`]),
    ...(spec.evalInterval === '' ? [] : [`EVAL INTERVAL ${spec.evalInterval}`]),
    ...(spec.comment === '' ? [] : [`COMMENT ${quoteText(spec.comment)}`]),
    ...(options.length === 0
      ? []
      : [`WITH (${options.map((key) => `${key} = ${quoteText(spec.options[key])}`).join(', ')})`]),
    `AS ${normalisedQuery({ tokens, from: 0, to: tokens.count })}`,
  ];
  return lines.join('\n');
}

function nameSql(name: string): string {
  return PLAIN_NAME.test(name) ? name : quoteName(name);
}

/** Returns the definition of a flow. */
export function specOf({ spec, flowId }: Flow): FlowSpec {
  if (spec !== undefined) return spec;
  throw new AlmanacError('internal', `flow ${flowId} has no definition`);
}

/** Rewrites errors of metadata about flows with the name of the catalog. */
export async function withCatalogName<T>(catalogName: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const known = AlmanacError.from(error);
    if (known.code !== 'flow_already_exists' && known.code !== 'flow_not_found') throw error;
    const text = known.message.replace(/: /, `: ${catalogName}.`);
    throw new AlmanacError(known.code, text, { cause: error });
  }
}
