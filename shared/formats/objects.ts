import type { ValueType } from '#shared/duckdb/chunk-reader';

import { encodeByRow, type Encoder, type OutputColumn, type ResultFormat } from './format.js';
import { jsonEncoder, jsonSql } from './json.js';

/** The format `json`: each row is an object. A column whose name is not the first of its kind gets a number: `x_1`. */
export const objectsFormat: ResultFormat = {
  names: ['json'],
  contentType: 'application/json',
  isSingle: true,
  separator: ',',

  head: () => '{"data":[',
  tail: () => ']',
  affected: (rowCount) => `{"data":[],"affected_rows":${rowCount}`,
  end: (resultCount, elapsedMs) => `${resultCount === 0 ? '{"data":[]' : ''},"execution_time_ms":${elapsedMs}}`,

  encodeRows(columns, cells, rowCount) {
    const leads = keysOf(columns).map((key, i) => `${i === 0 ? '{' : ','}${key}:`);
    const encoders = columns.map(({ type }) => objectEncoder(type));
    return encodeByRow(cells, rowCount, { encoders, leads, close: '}', separator: ',', nullText: 'null' });
  },

  rowSql(columns, names) {
    const parts: string[] = [];
    for (const [i, key] of keysOf(columns).entries()) {
      const sql = jsonSql(columns[i], names[i]);
      if (sql === undefined) return undefined;
      parts.push(`'${key.replaceAll("'", "''")}:', coalesce(${sql}, 'null')`);
    }
    return `concat('{', ${parts.join(`, ',', `)}, '}')`;
  },
};

function objectEncoder(type: ValueType): Encoder {
  if (type.kind === 'binary') return (cell) => `"${Buffer.from(cell as Uint8Array).toString('base64')}"`;
  return jsonEncoder(type);
}

/** Returns the keys of the members as JSON. */
function keysOf(columns: readonly OutputColumn[]): string[] {
  const taken = new Set(columns.map(({ name }) => name));
  const seen = new Set<string>();
  return columns.map(({ name }) => {
    let key = name;
    for (let i = 1; seen.has(key); i++) {
      if (!taken.has(`${name}_${i}`) && !seen.has(`${name}_${i}`)) key = `${name}_${i}`;
    }
    seen.add(key);
    return JSON.stringify(key);
  });
}
