import type { Column, Table } from '#shared/contracts/gen/common';
import { fieldsOf } from '#shared/schema/table-schema';
import { divisorName, scaledName } from '#shared/duckdb/scaled-columns';

import { fieldName } from '../flush/segment-sql.js';

/** Temporary table of divisors: `sid`, and `d<id>` for each field, null for series that are stored as they are. */
const DIVISORS = 'divisors';
/** Fields beyond this number are stored as they are: each takes memory, and time to plan. */
const FIELDS_MAX = 64;
/** Float literals of a power of ten are exact up to 22, but longer decimals are rarely numbers that were read as text. */
const EXPONENT_MAX = 10;
/**
 * Numbers with more digits do not determine the exponent of a series: up to here, less than 2 % of the results of
 * arithmetic look like decimals by chance.
 */
const DIGITS_MAX = 14;
/** Share of a series' values that are decimal, below which it is stored as it is. */
const DECIMAL_SHARE = 0.8;
/** Share of the values of a file whose series have divisors, below which a field has no scaled column there. */
const SCALED_SHARE = 0.02;
/** 2^53: up to here, the quotient of a whole number and a power of ten is the double nearest to the decimal number. */
const WHOLE_MAX = '9007199254740992';

/** Returns the fields that may get scaled columns. */
export function scalableFields(table: Table): readonly Column[] {
  const names = new Set(table.columns.map(({ name }) => name.toLowerCase()));
  const isFree = (name: string): boolean => !names.has(name.toLowerCase());
  return fieldsOf(table)
    .filter(({ type, name }) => type === 'Float64' && isFree(scaledName(name)) && isFree(divisorName(name)))
    .slice(0, FIELDS_MAX);
}

/**
 * SQL that creates the temporary table of divisors of some rows: for each series and field the least power of ten that
 * makes all its decimal values whole, if that is not 1 and most values are decimal.
 *
 * @param rows SELECT of `sid` and the fields.
 */
export function createDivisors(rows: string, fields: readonly Column[]): string {
  const exponents = fields.map(({ id }) => `${exponentOf(`f${id}`)} AS k${id}`);
  const powers = Array.from({ length: EXPONENT_MAX }, (_, i) => `1e${i + 1}`).join(', ');
  const divisors = fields.flatMap(({ id }) => [
    // The exponent 0 is no position in the list.
    `CASE WHEN count(k${id}) >= ${DECIMAL_SHARE} * count(f${id}) THEN [${powers}][max(k${id})] END AS d${id}`,
    `count(f${id}) AS n${id}`,
  ]);
  return (
    `CREATE TEMP TABLE ${DIVISORS} AS SELECT sid, ${divisors.join(', ')} ` +
    `FROM (SELECT *, ${exponents.join(', ')} FROM (${rows})) GROUP BY sid`
  );
}

/** SQL that drops the table, which takes half a MiB for each field. */
export const DROP_DIVISORS = `DROP TABLE IF EXISTS ${DIVISORS}`;

/** SQL of the exponent of a value; null if it is not decimal. NaN is greater than all numbers. */
function exponentOf(field: string): string {
  const cases = [
    `WHEN trunc(${field}) = ${field} AND abs(${field}) < ${WHOLE_MAX} THEN 0`,
    // Products below 1e15 are rounded to the right whole number, so what fails here fails with lower exponents too.
    `WHEN abs(${field}) < 1e${15 - EXPONENT_MAX} AND NOT ${isDecimal(field, EXPONENT_MAX)} THEN NULL`,
  ];
  for (let k = 1; k <= EXPONENT_MAX; k++) {
    cases.push(`WHEN abs(${field}) >= 1e${DIGITS_MAX - k} THEN NULL`);
    cases.push(`WHEN ${isDecimal(field, k)} THEN ${k}`);
  }
  return `CASE ${cases.join(' ')} END`;
}

function isDecimal(field: string, exponent: number): string {
  return `(round(${field} * 1e${exponent}) / 1e${exponent} = ${field})`;
}

/** SQL of one row: for each field, whether it should have a scaled column. */
export function scaledShares(fields: readonly Column[]): string {
  const shares = fields.map(({ id }) => {
    return `coalesce(sum(n${id}) FILTER (d${id} IS NOT NULL) >= ${SCALED_SHARE} * sum(n${id}), false)`;
  });
  return `SELECT ${shares.join(', ')} FROM ${DIVISORS}`;
}

/**
 * SQL of sorted rows with scaled numbers `s<id>`, null where the value itself must be stored, and divisors `d<id>`.
 *
 * @param rows SELECT.
 */
export function scaledRows(rows: string, fields: readonly Column[], keys: string): string {
  if (fields.length === 0) return `(SELECT * FROM (${rows}) ORDER BY ${keys})`;
  const divisors = fields.map(({ id }) => `d${id}`).join(', ');
  const joined = `SELECT r.*, ${divisors} FROM (${rows}) AS r LEFT JOIN ${DIVISORS} USING (sid) ORDER BY ${keys}`;
  const products = fields.map((field) => `round(${fieldName(field)} * d${field.id}) AS p${field.id}`);
  const scaled = fields.map((field) => {
    const product = `p${field.id}`;
    const isExact = `abs(${product}) < ${WHOLE_MAX} AND ${product} / d${field.id} = ${fieldName(field)}`;
    return `CASE WHEN ${isExact} THEN ${product} END AS s${field.id}`;
  });
  return `(SELECT *, ${scaled.join(', ')} FROM (SELECT *, ${products.join(', ')} FROM (${joined})))`;
}
