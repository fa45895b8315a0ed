/** The tree of a LogQL query. */

/** Comparison of a label with a text. */
export type MatchOp = '=' | '!=' | '=~' | '!~';

/** Comparison of a number. */
export type CompareOp = '==' | '!=' | '>' | '>=' | '<' | '<=';

/** A condition on a label: `app="x"`. */
export interface LogMatcher {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
}

/** How a line filter compares: substring, regular expression, pattern. */
export type LineOp = '|=' | '!=' | '|~' | '!~' | '|>' | '!>';

/** `|= "a" or "b"`: the line matches any of the texts; negated: none. */
export interface LineFilterStage {
  readonly kind: 'line_filter';
  readonly op: LineOp;
  readonly texts: readonly string[];
}

/** A label that a parser sets, and where in the line it finds the value. */
export interface Extraction {
  readonly label: string;
  readonly path: string;
}

/** `| json`, `| logfmt`; without extractions all members become labels. */
export interface ParserStage {
  readonly kind: 'json' | 'logfmt';
  readonly extractions: readonly Extraction[];
  /** Only `logfmt`: whether malformed lines are errors. */
  readonly isStrict: boolean;
  /** Only `logfmt`: whether keys without a value become empty labels. */
  readonly keepsEmpty: boolean;
}

/** `| pattern "..."`, `| regexp "..."`. */
export interface PatternStage {
  readonly kind: 'pattern' | 'regexp';
  readonly text: string;
}

/** A condition on labels, with numbers, durations and sizes. */
export type LabelCondition =
  | { readonly kind: 'and' | 'or'; readonly left: LabelCondition; readonly right: LabelCondition }
  | { readonly kind: 'text'; readonly matcher: LogMatcher }
  | {
      readonly kind: 'number' | 'duration' | 'bytes';
      readonly name: string;
      readonly op: CompareOp;
      readonly value: number;
      /** The value as in the query. */
      readonly text: string;
    };

/** `| status >= 500`. */
export interface LabelFilterStage {
  readonly kind: 'label_filter';
  readonly condition: LabelCondition;
}

/** `| line_format "{{.app}}"`. */
export interface LineFormatStage {
  readonly kind: 'line_format';
  readonly template: string;
}

/** A label that `label_format` sets: to a template, or by renaming another label. */
export interface LabelAssignment {
  readonly name: string;
  readonly from: { readonly label: string } | { readonly template: string };
}

/** `| label_format a=b, c="{{.d}}"`. */
export interface LabelFormatStage {
  readonly kind: 'label_format';
  readonly assignments: readonly LabelAssignment[];
}

/** A label of `drop` or `keep`: by name, or only where it matches. */
export interface LabelChoice {
  readonly name: string;
  readonly matcher: LogMatcher | undefined;
}

/** `| drop a, b="x"`, `| keep a`. */
export interface LabelChoiceStage {
  readonly kind: 'drop' | 'keep';
  readonly labels: readonly LabelChoice[];
}

/** Stages without arguments. */
export interface PlainStage {
  readonly kind: 'unpack' | 'decolorize';
}

/** A step of the pipeline of a log query. */
export type PipelineStage =
  | LineFilterStage
  | ParserStage
  | PatternStage
  | LabelFilterStage
  | LineFormatStage
  | LabelFormatStage
  | LabelChoiceStage
  | PlainStage;

/** `{app="x"} | json`. */
export interface LogQuery {
  readonly kind: 'log';
  readonly matchers: readonly LogMatcher[];
  readonly stages: readonly PipelineStage[];
}

/** `| unwrap duration(latency) | __error__=""`. */
export interface Unwrap {
  readonly label: string;
  readonly conversion: '' | 'duration' | 'duration_seconds' | 'bytes';
  /** Label filters after it. */
  readonly filters: readonly LabelFilterStage[];
}

/** `by (a, b)`, `without (a)`. */
export interface Grouping {
  readonly isWithout: boolean;
  readonly labels: readonly string[];
}

/** `rate({app="x"} [5m] offset 1h)`. */
export interface RangeAggregation {
  readonly kind: 'range_aggregation';
  readonly fn: string;
  readonly parameter: number | undefined;
  readonly query: LogQuery;
  readonly unwrap: Unwrap | undefined;
  readonly rangeNs: bigint;
  readonly offsetNs: bigint;
  readonly grouping: Grouping | undefined;
}

/** `sum by (app) (...)`. */
export interface VectorAggregation {
  readonly kind: 'vector_aggregation';
  readonly fn: string;
  readonly parameter: number | undefined;
  readonly grouping: Grouping | undefined;
  readonly inner: MetricQuery;
}

/** How the series of two sides find each other. */
export interface SideMatching {
  readonly isOn: boolean;
  readonly labels: readonly string[];
  readonly group: 'left' | 'right' | undefined;
  readonly include: readonly string[];
}

/** `a / on (app) b`. */
export interface BinaryOperation {
  readonly kind: 'binary';
  readonly op: string;
  readonly returnsBool: boolean;
  readonly matching: SideMatching | undefined;
  readonly left: MetricQuery;
  readonly right: MetricQuery;
}

/** `5`, `vector(5)`. */
export interface ConstantQuery {
  readonly kind: 'number' | 'vector';
  readonly value: number;
}

/** `label_replace(v, "dst", "$1", "src", "(.*)")`. */
export interface LabelReplacement {
  readonly kind: 'label_replace';
  readonly inner: MetricQuery;
  readonly target: string;
  readonly replacement: string;
  readonly source: string;
  readonly pattern: string;
}

/** A query whose result is numbers. */
export type MetricQuery = RangeAggregation | VectorAggregation | BinaryOperation | ConstantQuery | LabelReplacement;

/** Any query. */
export type LogqlQuery = LogQuery | MetricQuery;
