import { quoteName } from '#shared/duckdb/quote';

/** An aggregate of InfluxQL. */
interface InfluxAggregate {
  /** Whether it is for numbers only; then it is null for other fields. */
  readonly isNumeric: boolean;
  /** SQL of the value. @param column quoted. @param time the time index, quoted. @param argument a number after the field. */
  readonly sql: (column: string, time: string, argument: number) => string;
  /** SQL of the time of the row that the value is of; undefined if it is of no row. */
  readonly timeSql?: (column: string, time: string) => string;
  /** Whether it needs a number after the field. */
  readonly hasArgument?: boolean;
}

const present = (column: string): string => `FILTER (WHERE ${column} IS NOT NULL)`;

/** Aggregates by name. Those with `timeSql` select a row. */
export const INFLUX_AGGREGATES: ReadonlyMap<string, InfluxAggregate> = new Map(
  Object.entries<InfluxAggregate>({
    count: { isNumeric: false, sql: (column) => `count(${column})` },
    sum: { isNumeric: true, sql: (column) => `sum(${column})` },
    mean: { isNumeric: true, sql: (column) => `avg(${column})` },
    median: { isNumeric: true, sql: (column) => `median(${column})` },
    mode: { isNumeric: false, sql: (column) => `mode(${column})` },
    stddev: { isNumeric: true, sql: (column) => `stddev_samp(${column})` },
    spread: { isNumeric: true, sql: (column) => `max(${column}) - min(${column})` },
    min: {
      isNumeric: true,
      sql: (column) => `min(${column})`,
      timeSql: (column, time) => `arg_min(${time}, ${column})`,
    },
    max: {
      isNumeric: true,
      sql: (column) => `max(${column})`,
      timeSql: (column, time) => `arg_max(${time}, ${column})`,
    },
    first: {
      isNumeric: false,
      sql: (column, time) => `arg_min(${column}, ${time})`,
      timeSql: (column, time) => `min(${time}) ${present(column)}`,
    },
    last: {
      isNumeric: false,
      sql: (column, time) => `arg_max(${column}, ${time})`,
      timeSql: (column, time) => `max(${time}) ${present(column)}`,
    },
    percentile: {
      isNumeric: true,
      hasArgument: true,
      // The nearest rank, as InfluxDB rounds it.
      sql: (column, _time, percent) =>
        `list_sort(list(${column}) ${present(column)})[CAST(floor(count(${column}) * ${percent / 100} + 0.5) AS BIGINT)]`,
    },
  }),
);

/** Returns the SQL of `count(distinct(field))`. */
export function distinctCountSql(field: string): string {
  return `count(DISTINCT ${quoteName(field)})`;
}
