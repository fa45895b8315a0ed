import type { SeededRandom } from '#test/bench/tsbs/seeded-random';

/** A select item, and whether its last digits depend on the order of the rows. */
export interface RandomItem {
  readonly sql: string;
  readonly isInexact: boolean;
}

const DOUBLES = ['avg(d)', 'min(d)', 'max(d)', 'sum(f)', 'avg(f)', 'avg(i)', 'avg(t)', 'avg(u)'];
const FLOATS = ['min(f)', 'max(f)'];
const NUMBERS = ['0.5', '2', '-3', '0', '7', '2.5', '-0.0', '1e1'];
/** None of them exceeds its type or divides by zero: these are errors. */
const INTEGERS = [
  'count(*) - count(d)',
  'max(i) - min(i)',
  'max(u) - min(u)',
  'sum(i) * 3 - sum(t)',
  '1 - max(i)',
  'max(i) + 5',
  'max(t) / 7',
  'min(i) / -9',
  'sum(u) / 1000',
  '-min(i)',
  'abs(min(n))',
  'max(i) - count(*)',
  'coalesce(max(t), 0)',
  'coalesce(sum(i), -1)',
  'round(sum(i), 2)',
  'round(max(i), 1)',
  '(count(*) + 2) * (count(u) - 9)',
];
/** Of queries whose groups have rows. */
const QUOTIENTS = [
  '100 * count(d) / count(*)',
  'sum(i) / count(*)',
  '(sum(t) - 5) / (0 - count(*))',
  'max(i) / count(*)',
];

/**
 * Returns a random expression over aggregates. It divides by no aggregate that may be zero of either sign.
 *
 * @param hasRows whether every group has rows
 * @param edges aggregates of `x` by time
 */
export function randomExpression(hasRows: boolean, edges: readonly string[], random: SeededRandom): RandomItem {
  if (random.below(3) === 0) {
    return { sql: random.pick([...INTEGERS, ...(hasRows ? QUOTIENTS : [])]), isInexact: false };
  }
  const sql = operation(1 + random.below(2), edges, random);
  return { sql, isInexact: sql.includes('avg(d)') };
}

function operation(depth: number, edges: readonly string[], random: SeededRandom): string {
  const operand = (): string => {
    if (depth > 1) return operation(depth - 1, edges, random);
    const ordered = edges.map((edge) => edge.replace('x', random.pick(['d', 'f'])));
    const integer = random.pick(['count(*)', 'count(f)', 'max(i)', 'min(u)', 'sum(t)']);
    return random.pick([
      random.pick(DOUBLES),
      random.pick(DOUBLES),
      random.pick(FLOATS),
      `${integer} * 0.5`,
      ...ordered,
    ]);
  };
  const number = random.pick(NUMBERS);
  const first = operand();
  return random.pick([
    () => `(${first} + ${operand()})`,
    () => `(${first} - ${operand()})`,
    () => `(${first} * ${number})`,
    () => `(${number} - ${first})`,
    () => `${first} / ${number}`,
    () => `${first} / count(*)`,
    () => `${number} / (abs(${first}) + 1)`,
    () => `-(${first})`,
    () => `round(${first})`,
    () => `round(${first}, ${random.pick(['0', '1', '2', '5', '-1', '-2'])})`,
    () => `${random.pick(['abs', 'floor', 'ceil'])}(${first})`,
    () => `coalesce(${first}, ${number})`,
    () => `(${first})::DOUBLE`,
  ])();
}
