/** Points of one series in the order of time; those without a value are left out. */
export interface TransformPoint {
  readonly timeNs: bigint;
  readonly value: number;
}

/** Computes the value of each point from those before it; undefined: none at this time. */
export type InfluxPointFunction = (points: readonly TransformPoint[]) => readonly (number | undefined)[];

/** A function over the points of a series. */
interface InfluxTransform {
  /** What the second argument is, if there can be one. */
  readonly argument?: 'duration' | 'number';
  /** @param argument nanoseconds or the number; undefined if it is left out. */
  readonly make: (argument: number | undefined) => InfluxPointFunction;
}

const SECOND_NS = 1e9;
const WINDOW_MAX = 10_000;

type Pair = (point: TransformPoint, before: TransformPoint) => number;

/** Computes a value for each point after the first. */
const pairs =
  (compute: Pair, keeps: (value: number) => boolean = () => true): InfluxPointFunction =>
  (points) =>
    points.map((point, i) => {
      const value = i === 0 ? undefined : compute(point, points[i - 1]);
      return value !== undefined && keeps(value) ? value : undefined;
    });

const isNotNegative = (value: number): boolean => value >= 0;
const difference: Pair = (point, before) => point.value - before.value;
const derivative =
  (unitNs = SECOND_NS): Pair =>
  (point, before) =>
    (difference(point, before) * unitNs) / Number(point.timeNs - before.timeNs);

function movingAverage(length = 2): InfluxPointFunction {
  const window = Math.min(Math.max(1, Math.floor(length)), WINDOW_MAX);
  return (points) => {
    let sum = 0;
    return points.map(({ value }, i) => {
      sum += value - (i >= window ? points[i - window].value : 0);
      return i + 1 < window ? undefined : sum / window;
    });
  };
}

function cumulativeSum(points: readonly TransformPoint[]): readonly number[] {
  let sum = 0;
  return points.map(({ value }) => (sum += value));
}

/** Functions over the points of a series, by name. */
export const INFLUX_TRANSFORMS: ReadonlyMap<string, InfluxTransform> = new Map(
  Object.entries<InfluxTransform>({
    derivative: { argument: 'duration', make: (unitNs) => pairs(derivative(unitNs)) },
    non_negative_derivative: { argument: 'duration', make: (unitNs) => pairs(derivative(unitNs), isNotNegative) },
    difference: { make: () => pairs(difference) },
    non_negative_difference: { make: () => pairs(difference, isNotNegative) },
    cumulative_sum: { make: () => cumulativeSum },
    moving_average: { argument: 'number', make: movingAverage },
    abs: { make: () => (points) => points.map(({ value }) => Math.abs(value)) },
    ceil: { make: () => (points) => points.map(({ value }) => Math.ceil(value)) },
    floor: { make: () => (points) => points.map(({ value }) => Math.floor(value)) },
    round: { make: () => (points) => points.map(({ value }) => Math.round(value)) },
  }),
);
