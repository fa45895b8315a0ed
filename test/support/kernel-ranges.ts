import type { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** Slots from 1970 on, or from another time. */
const ORIGINS = ['', '', " TO '1970-01-01T00:30:00'", " TO '1969-07-20T20:17:40'", " TO '2024-05-06T07:08:09.123Z'"];
const ALIGNS_SECONDS = [420, 1800, 3600, 7200];
/** Lengths of ranges, in those of a slot. */
const RANGES = [1, 1, 2, 3, 0.5, 1.5];
const FILLS = ['', '', '', ' FILL NULL', ' FILL PREV', ' FILL LINEAR', ' FILL 6', ' FILL -1'];
const FLOATS: ReadonlySet<string> = new Set(['d', 'f']);

/** A range expression, and whether its last digits depend on the order of the rows. */
interface RangeItem {
  readonly sql: string;
  readonly isInexact: boolean;
}

/** Returns a range query. @param fields numeric ones @param hasEdges whether the first and the last row of a host are known */
export function randomRange(
  name: string,
  where: string,
  fields: readonly string[],
  hasEdges: boolean,
  random: SeededRandom,
): { readonly sql: string; readonly isOrdered: boolean; readonly inexact: ReadonlySet<number> } {
  const seconds = random.pick(ALIGNS_SECONDS);
  const by = random.pick(hasEdges ? [' BY (h)', ''] : [' BY (h)', ' BY (r)', ' BY ()', '', ' BY (r, h)']);
  const keys = by === '' ? ['h', 'r'] : ['h', 'r'].filter((key) => by.includes(key));
  const items = Array.from({ length: 1 + random.below(3) }, (): RangeItem => {
    const field = random.pick(fields);
    const range = `RANGE '${seconds * random.pick(RANGES)}s'`;
    const fill = random.pick(FILLS);
    const edges = hasEdges ? ['first_value', 'last_value'] : [];
    const call = random.pick(['min', 'max', 'sum', 'avg', 'count', 'count(*)', 'max(ts)', ...edges]);
    if (call === 'max(ts)') return { sql: `${call} ${range}${random.pick(['', ' FILL PREV'])}`, isInexact: false };
    if (call === 'count(*)') return { sql: `${call} ${range}${fill}`, isInexact: false };
    const isInexact = call === 'avg' || (call === 'sum' && FLOATS.has(field));
    const sql = `${call}(${field}) ${range}${fill}`;
    return random.below(5) > 0 ? { sql, isInexact } : { sql: `(${sql}) * 0.5 - count(*) ${range}`, isInexact };
  });
  const named = items.map(({ sql }, i) => `${sql} AS a${i}`);
  const list = ['ts', ...keys, ...named].join(', ');
  const isOrdered = random.below(2) === 0;
  const order = ['ts', ...keys].map((key) => `${key}${random.pick(['', ' DESC', ' NULLS FIRST'])}`).join(', ');
  const end = isOrdered ? ` ORDER BY ${order}${random.pick(['', ` LIMIT ${1 + random.below(9)}`])}` : '';
  const fill = random.pick(FILLS.slice(0, 5));
  return {
    sql: `SELECT ${list} FROM ${name}${where} ALIGN '${seconds}s'${random.pick(ORIGINS)}${by}${fill}${end}`,
    isOrdered,
    inexact: new Set(items.flatMap(({ isInexact }, i) => (isInexact ? [1 + keys.length + i] : []))),
  };
}
