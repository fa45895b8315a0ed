import type { Cell } from '#shared/duckdb/chunk-reader';
import type { RowFunction } from '#shared/duckdb/row-functions';

import { estimate, mergeStates, stateOfEntries } from './hyperloglog.js';
import { checkParameters, decodeSketch, encodeSketch, mergeSketches, sketchQuantile, sketchOf } from './uddsketch.js';

/** Functions of the states of sketches. */
export const SKETCH_ROW_FUNCTIONS: readonly RowFunction[] = [
  {
    name: 'almanac_uddsketch_of',
    parameters: ['int', 'float', 'float[]', 'float[]'],
    returns: 'binary',
    compute: (buckets, error, keys, counts) =>
      encodeSketch(sketchOf(Number(buckets), error as number, keys as number[], counts as number[])),
  },
  {
    name: 'almanac_uddsketch_pair',
    parameters: ['binary', 'binary'],
    returns: 'binary',
    compute: (left, right) => encodeSketch(mergeSketches(sketch(left), sketch(right))),
  },
  {
    name: 'almanac_uddsketch_checked',
    parameters: ['int', 'float', 'binary'],
    returns: 'binary',
    compute: (buckets, error, state) => checked(state as Uint8Array, Number(buckets), error as number),
  },
  {
    name: 'almanac_uddsketch_quantile',
    parameters: ['float', 'binary'],
    returns: 'float',
    compute: (quantile, state) => sketchQuantile(sketch(state), quantile as number),
  },
  {
    name: 'almanac_hll_of',
    parameters: ['float[]'],
    returns: 'binary',
    compute: (entries) => stateOfEntries(entries as number[]),
  },
  {
    name: 'almanac_hll_pair',
    parameters: ['binary', 'binary'],
    returns: 'binary',
    compute: (left, right) => mergeStates(left as Uint8Array, right as Uint8Array),
  },
  {
    name: 'almanac_hll_estimate',
    parameters: ['binary'],
    returns: 'int',
    compute: (state) => BigInt(estimate(state as Uint8Array)),
  },
];

function sketch(state: Cell): ReturnType<typeof decodeSketch> {
  return decodeSketch(state as Uint8Array);
}

function checked(state: Uint8Array, buckets: number, error: number): Uint8Array {
  checkParameters(sketch(state), buckets, error);
  return state;
}
