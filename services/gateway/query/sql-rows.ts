import type { Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import { resultFormatNamed } from '#shared/formats/registry';

import { parseJson, type JsonValue } from '../protocols/common/json.js';

/** Largest result in bytes, as JSON. */
const RESULT_BYTES_MAX = 64 * 1024 * 1024;

/** A statement for `sqlRows`. */
export interface RowsRequest {
  readonly sql: string;
  readonly database: string;
}

/** A row by the names of its columns. */
export type SqlRow = Readonly<Record<string, JsonValue>>;

/**
 * Runs one SQL statement for a route whose replies have a form of their own, and returns its rows: none for a statement
 * that returns no rows. 64-bit integers are exact.
 *
 * @throws any error of the statement; `resources_exhausted` if the result is too large.
 */
export async function sqlRows(querier: QuerierService, request: RowsRequest, call: Call): Promise<SqlRow[]> {
  const { names, separator } = resultFormatNamed('');
  const parts: Uint8Array[] = [];
  const between = Buffer.from(separator);
  let columns: readonly string[] = [];
  let size = 0;
  for await (const { schema, text } of querier.sql({ ...request, timezone: 'UTC', format: names[0], user: '' }, call)) {
    if (schema.length > 0) columns = schema.map(({ name }) => name);
    if (text.length === 0) continue;
    size += text.length + between.length;
    if (size > RESULT_BYTES_MAX) {
      throw new AlmanacError('resources_exhausted', `result is larger than ${RESULT_BYTES_MAX} bytes`);
    }
    if (parts.length > 0) parts.push(between);
    parts.push(text);
  }
  const rows = parseJson(Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')]), { bytesMax: Infinity });
  return (rows as readonly (readonly JsonValue[])[]).map((cells) =>
    Object.fromEntries(columns.map((name, i) => [name, cells[i]])),
  );
}
