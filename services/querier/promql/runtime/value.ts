import type { StepSeries } from './samples.js';

/** What an expression gives, for all steps of a query at once. */
export type Value =
  | { readonly kind: 'scalar'; readonly values: Float64Array }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'vector'; readonly series: readonly StepSeries[] };
