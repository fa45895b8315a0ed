/** The parts of function and aggregation records that the parser, the checker and the analyses of an expression read. */

/** Type of an expression; a `matrix` is a range vector. */
export type PromType = 'scalar' | 'string' | 'vector' | 'matrix';

/** Times of the outermost query, in milliseconds. */
export interface QueryRange {
  readonly startMs: number;
  readonly endMs: number;
  /** 0 for an instant query. */
  readonly stepMs: number;
}

/** Properties of a PromQL function that do not depend on its arguments. */
export interface FunctionSignature {
  readonly name: string;
  readonly args: readonly PromType[];
  /** How many times the last argument may be omitted or repeated: 0 exactly once, n up to n times, -1 any number of times. */
  readonly variadic: number;
  readonly returns: PromType;
  /** Prometheus requires a feature flag for it. */
  readonly isExperimental?: boolean;
  /** The value depends on the evaluation time even where the arguments do not. */
  readonly dependsOnTime?: boolean;
  /** The value at one step depends on other steps of the query, so a result cannot be extended step by step. */
  readonly dependsOnRange?: boolean;
  /** With a selector as argument the value depends on its samples only, even if `dependsOnTime`. */
  readonly readsSampleTimes?: boolean;
  /** Index of an argument that is label matchers in braces instead of a vector to evaluate. */
  readonly matchersArg?: number;
  /** Value of a function that is constant within a query, such as `start()`. */
  readonly queryConstant?: (range: QueryRange) => number;
  /** The part of a histogram that the function reads; undefined for functions that pass histograms on. */
  readonly histogramPart?: 'countAndSum' | 'buckets';
  /** The values are those of the argument, or of the same kind, so that the column of a table keeps its name. */
  readonly keepsValues?: boolean;
  /** The result has no label of the arguments. */
  readonly dropsLabels?: boolean;
  /** A label of the argument that the result does not have. */
  readonly consumedLabel?: string;
}

/** Properties of a PromQL aggregation that do not depend on its operand. */
export interface AggregationSignature {
  readonly name: string;
  /** Type of the parameter, for aggregations that have one. */
  readonly param?: { readonly name: string; readonly type: 'scalar' | 'string' };
  /** Prometheus requires a feature flag for it. */
  readonly isExperimental?: boolean;
  /** Selects input series and keeps all their labels, instead of computing one series per group. */
  readonly selectsSeries?: boolean;
  /** The parameter is the name of a label that the result has. */
  readonly addsLabel?: boolean;
  /** The value at one step depends on other steps of the query, so a result cannot be extended step by step. */
  readonly dependsOnRange?: boolean;
}
