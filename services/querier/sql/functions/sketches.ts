import { call, cast, copy, type Ast } from '../syntax/ast.js';
import { argumentsOf, type FunctionRule } from './function.js';
import { macroName } from './macros.js';

/** Builds an aggregate of another expression over the same rows: filter, DISTINCT and window stay. */
function over(node: Ast, name: string, value: Ast): Ast {
  return { ...copy(node), alias: '', function_name: name, children: [value] };
}

function distinct(node: Ast): Ast {
  return { ...node, distinct: true };
}

/** `uddsketch_state(buckets, error, x)`: the engine counts values by bucket, so that few values leave it. */
const uddState: FunctionRule = {
  names: ['uddsketch_state'],
  inWindows: true,
  rewrite(node, context) {
    const [buckets, error, value] = argumentsOf(node, 3, 3);
    const bucket = call(macroName('uddsketch_bucket'), cast(value, 'DOUBLE'), cast(copy(error), 'DOUBLE'));
    const state = call(macroName('uddsketch_state'), buckets, error, over(node, 'histogram', bucket));
    return context.typed(state, 'binary');
  },
};

const uddMerge: FunctionRule = {
  names: ['uddsketch_merge'],
  inWindows: true,
  rewrite(node, context) {
    const [buckets, error, state] = argumentsOf(node, 3, 3);
    return context.typed(call(macroName('uddsketch_merge'), buckets, error, over(node, 'list', state)), 'binary');
  },
};

const uddCalc: FunctionRule = {
  names: ['uddsketch_calc'],
  rewrite(node, context) {
    const [quantile, state] = argumentsOf(node, 2, 2);
    return context.typed(call('almanac_uddsketch_quantile', cast(quantile, 'DOUBLE'), state), 'float');
  },
};

/** `hll(x)`: one entry for each rank that occurs in a register. */
const hll: FunctionRule = {
  names: ['hll'],
  inWindows: true,
  rewrite(node, context) {
    const [value] = argumentsOf(node, 1, 1);
    const entries = distinct(over(node, 'list', call(macroName('hll_entry'), cast(value, 'VARCHAR'))));
    return context.typed(call(macroName('hll_state'), entries), 'binary');
  },
};

const hllMerge: FunctionRule = {
  names: ['hll_merge'],
  inWindows: true,
  rewrite(node, context) {
    const [state] = argumentsOf(node, 1, 1);
    return context.typed(call(macroName('hll_merge'), over(node, 'list', state)), 'binary');
  },
};

const hllCount: FunctionRule = {
  names: ['hll_count'],
  rewrite(node, context) {
    const [state] = argumentsOf(node, 1, 1);
    return context.typed(call('almanac_hll_estimate', state), 'int');
  },
};

/** Counts distinct values; the engine compares them and not only their hashes. */
const countHash: FunctionRule = {
  names: ['count_hash'],
  rewrite(node, context) {
    argumentsOf(node, 1, 1);
    return context.typed(distinct({ ...node, function_name: 'count' }), 'int');
  },
};

/** Sketches whose states can be stored and merged. */
export const SKETCH_FUNCTIONS: readonly FunctionRule[] = [
  uddState,
  uddMerge,
  uddCalc,
  hll,
  hllMerge,
  hllCount,
  countHash,
];
