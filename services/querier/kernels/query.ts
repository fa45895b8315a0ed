import type { Column } from '#shared/contracts/gen/common';
import type { TimeBounds } from '#shared/segments/bands';

/** How a number is compared with a constant. NaN is greater than every number, and equal to itself. */
export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** A condition on a number. */
export interface NumberCondition {
  readonly comparison: Comparison;
  /** A finite number, or -Infinity for all numbers. */
  readonly value: number;
}

/** A condition on a numeric field, which rows with null do not satisfy. */
export interface FieldCondition extends NumberCondition {
  readonly field: Column;
}

/** A pattern of LIKE, which is of the whole text, or a regular expression (RE2), which matches a part. */
export interface TextPattern {
  readonly kind: 'like' | 'regex';
  readonly pattern: string;
}

/** A condition on a tag, which series without the tag do not satisfy. */
export interface TagFilter {
  readonly tag: Column;
  readonly accepted: readonly string[] | TextPattern;
  /** Whether the tag must have none of the accepted values instead of one of them. */
  readonly isNegated: boolean;
}

/** Buckets of equal length: `[origin + n * step, origin + (n + 1) * step)`, in the unit of the time index. */
export interface TimeBuckets {
  readonly step: bigint;
  readonly origin: bigint;
}

/** What a row of the result is for: a time bucket, or a value of a tag. */
export type GroupKey =
  { readonly kind: 'bucket'; readonly buckets: TimeBuckets } | { readonly kind: 'tag'; readonly tag: Column };

/** How the values of a group become one; `first` and `last` are by time. */
export type AggregateName = 'count' | 'min' | 'max' | 'sum' | 'avg' | 'first' | 'last';

/** An aggregate over the rows of a group. */
export interface Aggregate {
  readonly name: AggregateName;
  /** A numeric field, or the time index for `min` and `max`; undefined: `count(*)`. */
  readonly field: Column | undefined;
  /** Only in range queries. */
  readonly range?: AggregateRange;
}

/** How FILL replaces results that are null. */
export type RangeFill = 'prev' | 'linear';

/** A range expression of a range query. */
export interface AggregateRange {
  readonly number: number;
  /** Undefined: null stays null, or an expression replaces it. */
  readonly fill: RangeFill | undefined;
}

/** Slots of a range query, which begin at `origin + n * step`. Its time buckets are those that slots and ranges consist of. */
export interface RangeSlots {
  /** In the unit of the time index, as `origin` and `lengths`. */
  readonly step: bigint;
  readonly origin: bigint;
  /** Of the ranges by aggregate, from the start of a slot. */
  readonly lengths: readonly bigint[];
  /** Whether slots without rows are added between the first and the last one of a label. */
  readonly isFilled: boolean;
  /** `step` in milliseconds. */
  readonly stepMs: number;
}

/** Operations on numbers. `/` is of floats; `convert` changes nothing but the type. */
export type ArithmeticOperation =
  '+' | '-' | '*' | '/' | 'divideIntegers' | 'coalesce' | 'negate' | 'abs' | 'floor' | 'ceil' | 'round' | 'convert';

/** Integers of a type, both ends included. */
export interface IntegerRange {
  readonly least: number;
  readonly greatest: number;
}

/** An expression over the aggregates of a group. Operands are converted to the type of the result first. */
export type Arithmetic =
  | { readonly kind: 'aggregate'; readonly index: number }
  | { readonly kind: 'number'; readonly value: number }
  | {
      readonly kind: 'operation';
      readonly operation: ArithmeticOperation;
      /** Type of the result. */
      readonly type: 'Float64' | 'Float32' | IntegerRange;
      readonly operands: readonly Arithmetic[];
      /** Decimal digits that `round` keeps: from -`DIGITS_MAX` to `DIGITS_MAX`; undefined: it rounds to integers. */
      readonly digits?: number | undefined;
    };

/** A position in the group keys, followed by the aggregates and the expressions over these. */
export type ResultPosition = number;

/** A member of ORDER BY. */
export interface ResultOrder {
  readonly position: ResultPosition;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

/** A condition of HAVING on an aggregate or an expression. */
export interface ResultCondition extends NumberCondition {
  readonly position: ResultPosition;
}

/** The rows that a query reads. */
export interface RowConditions {
  readonly bounds: TimeBounds;
  readonly tagConditions: readonly TagFilter[];
  readonly fieldConditions: readonly FieldCondition[];
}

/** How the rows of a result are sorted and cut. */
export interface ResultOrdering {
  readonly order: readonly ResultOrder[];
  readonly offset: number;
  readonly limit: number;
}

/** Columns that a query reads. */
interface ReadColumns {
  /** Fields, each once. */
  readonly fields: readonly Column[];
  /** The tags whose combinations of values are the labels of the query. */
  readonly labelTags: readonly Column[];
}

/** A query that groups the rows of one table and aggregates numeric fields. */
export interface AggregateQuery extends RowConditions, ResultOrdering, ReadColumns {
  readonly kind: 'groups';
  /** At most one of them is a bucket. Empty: all rows are one group, which exists even if there are none. */
  readonly keys: readonly GroupKey[];
  readonly aggregates: readonly Aggregate[];
  /** Undefined: the result has the time buckets. */
  readonly slots?: RangeSlots;
  readonly expressions: readonly Arithmetic[];
  readonly having: readonly ResultCondition[];
  /** Columns of the result. */
  readonly outputs: readonly ResultPosition[];
}

/** Selects the rows with the newest time of each combination of the values of tags, of the rows that a query selects. */
export interface NewestRows {
  readonly tags: readonly Column[];
  /** Whether series without one of the tags are left out. */
  readonly excludesNulls: boolean;
  /** Whether one row of several with the newest time is returned. */
  readonly isSingle: boolean;
}

/** A query that returns columns of rows. Its order has positions in `columns`. */
export interface RowQuery extends RowConditions, ResultOrdering, ReadColumns {
  readonly kind: 'rows';
  /** The time index, tags, and numeric or boolean fields. */
  readonly columns: readonly Column[];
  /** Undefined: all rows. */
  readonly newest: NewestRows | undefined;
}

/** A query that kernels run. */
export type KernelQuery = AggregateQuery | RowQuery;

/** The query, or its data, are of a kind that the engine must read. The message says what that is, for EXPLAIN. */
export class NotForKernels extends Error {}

/** As `NotForKernels`, for a reason that the next run of the query may not have. */
export class NotNowForKernels extends NotForKernels {}

/** As `NotNowForKernels`: the query reads more values than one thread should. Others may. */
export class TooManyValues extends NotNowForKernels {}

/** As `NotForKernels`: the query selects more rows than are collected. Other threads may write them. */
export class TooManyRows extends NotForKernels {}

/** Why the engine must run a query that needs the index of series. */
export const NO_INDEX = 'the series are too many for the memory of their index';

/** Returns the tags among the keys of groups. */
export function tagsAmong(keys: readonly GroupKey[]): readonly Column[] {
  const tags: Column[] = [];
  for (const key of keys) if (key.kind === 'tag') tags.push(key.tag);
  return tags;
}

/** Returns the fields among columns, each once. */
export function fieldsAmong(columns: readonly (Column | undefined)[]): readonly Column[] {
  const fields = new Map<number, Column>();
  for (const column of columns) if (column?.kind === 'field') fields.set(column.id, column);
  return [...fields.values()];
}
