/** The member `data` of a query response. */
export interface PromData {
  readonly resultType: string;
  readonly result: readonly unknown[];
}

type Pair = readonly [time: number, value: string];

interface Element {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: Pair;
  readonly values?: readonly Pair[];
}

/** Largest relative difference of equal floats. */
const TOLERANCE = 1e-9;

/** Describes the first difference between two results; empty if there is none. Series may be in any order. */
export function comparePromData(expected: PromData, actual: PromData): string {
  if (expected.resultType !== actual.resultType) return `type ${actual.resultType}, not ${expected.resultType}`;
  if (expected.resultType === 'scalar' || expected.resultType === 'string') {
    return comparePairs('', [expected.result as unknown as Pair], [actual.result as unknown as Pair]);
  }
  const [theirs, ours] = [bySeries(expected), bySeries(actual)];
  for (const key of ours.keys()) if (!theirs.has(key)) return `unexpected series ${key}`;
  for (const [key, pairs] of theirs) {
    const own = ours.get(key);
    if (own === undefined) return `no series ${key}`;
    const difference = comparePairs(key, pairs, own);
    if (difference !== '') return difference;
  }
  return '';
}

function bySeries({ result }: PromData): Map<string, readonly Pair[]> {
  return new Map(
    (result as readonly Element[]).map(({ metric, value, values = [] }) => {
      const key = JSON.stringify(Object.entries(metric).sort(([a], [b]) => (a < b ? -1 : 1)));
      return [key, value === undefined ? values : [value]];
    }),
  );
}

function comparePairs(key: string, expected: readonly Pair[], actual: readonly Pair[]): string {
  if (expected.length !== actual.length) {
    const times = new Set(actual.map(([time]) => time));
    const missing = expected.filter(([time]) => !times.has(time)).map(([time]) => time);
    return `${key}: ${actual.length} samples, not ${expected.length}; missing at ${missing.slice(0, 5).join(', ')}`;
  }
  for (const [i, [time, text]] of expected.entries()) {
    const [ownTime, ownText] = actual[i];
    if (time !== ownTime) return `${key}: sample at ${ownTime}, not ${time}`;
    if (text === ownText) continue;
    const [value, own] = [Number(text), Number(ownText)];
    const isNear = Math.abs(value - own) <= TOLERANCE * Math.max(Math.abs(value), Math.abs(own));
    if (!isNear) return `${key}: ${ownText} at ${time}, not ${text}`;
  }
  return '';
}
