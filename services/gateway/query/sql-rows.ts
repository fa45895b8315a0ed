import type { Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { resultFormatNamed } from '#shared/formats/registry';

import { parseJson, type JsonValue } from '../protocols/common/json.js';

/** Rows around values that have up to 64 levels, each of which takes up to three in what was sent. */
const DEPTH_MAX = 256;

/** A statement for `sqlRows`. */
export interface RowsRequest {
  readonly sql: string;
  readonly database: string;
}

/** Values of a row in the order of the columns. 64-bit integers are exact. */
export type SqlRow = readonly JsonValue[];

/**
 * Runs one SQL statement for a route whose replies have a form of their own. Returns its rows in blocks, as the querier sends
 * them; none for a statement that returns no rows.
 *
 * @throws any error of the statement.
 */
export async function* sqlRows(
  querier: QuerierService,
  request: RowsRequest,
  call: Call,
): AsyncGenerator<readonly SqlRow[], void, undefined> {
  const format = resultFormatNamed('').names[0];
  // A request may run several statements, each with a deadline of its own.
  const own = { ...call, end: undefined };
  for await (const { text } of querier.sql({ ...request, timezone: 'UTC', format, user: '' }, own)) {
    if (text.length === 0) continue;
    yield parseRowBlock(text);
  }
}

/** Parses the text of an event of a result in the default format. */
export function parseRowBlock(text: Uint8Array): readonly SqlRow[] {
  const bytes = Buffer.concat([Buffer.from('['), text, Buffer.from(']')]);
  return parseJson(bytes, { bytesMax: Infinity, depthMax: DEPTH_MAX }) as readonly SqlRow[];
}

/** Returns all rows of a statement with a small result. */
export async function allSqlRows(querier: QuerierService, request: RowsRequest, call: Call): Promise<SqlRow[]> {
  const rows: SqlRow[] = [];
  for await (const block of sqlRows(querier, request, call)) rows.push(...block);
  return rows;
}
