import { AlmanacError } from '#shared/errors/almanac-error';

import { call, cast, copy, type Ast } from '../syntax/ast.js';
import { vectorFunction } from '../vectors/row-functions.js';
import { argumentsOf, type FunctionContext, type FunctionRule, type KnownType } from './function.js';
import { checkExpansion, macroName } from './macros.js';

/** Builds the bytes of an argument that is a vector or the text of one. */
function vectorOf(argument: Ast, context: FunctionContext): Ast {
  switch (context.typeOf(argument)) {
    case 'vector':
    case 'binary':
      return argument;
    case 'text':
      return call(vectorFunction('parse_vec'), argument);
    case undefined:
      return call(macroName('vec_of'), argument);
    default:
      throw new AlmanacError('execute_query', "a vector is expected: use a vector or a text such as '[1.0, 2.0]'");
  }
}

/** @param kinds what each argument is: `v` a vector, `n` a number, `i` an integer. */
const rule = (name: string, kinds: string, returns: KnownType): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const given = argumentsOf(node, kinds.length, kinds.length);
    const children = given.map((argument, i) => {
      if (kinds[i] === 'v') return vectorOf(argument, context);
      return cast(argument, kinds[i] === 'n' ? 'DOUBLE' : 'BIGINT');
    });
    const result = call(vectorFunction(name), ...children);
    checkExpansion(result);
    return context.typed(result, returns);
  },
});

/** Aggregates go through pairs of vectors. */
const aggregate = (name: string): FunctionRule => ({
  names: [name],
  inWindows: true,
  rewrite(node, context) {
    const [argument] = argumentsOf(node, 1, 1);
    const list: Ast = { ...copy(node), alias: '', function_name: 'list', children: [vectorOf(argument, context)] };
    return context.typed(call(macroName(name), list), 'vector');
  },
});

const parse: FunctionRule = {
  names: ['parse_vec'],
  rewrite(node, context) {
    const [text] = argumentsOf(node, 1, 1);
    return context.typed(call(vectorFunction('parse_vec'), cast(text, 'VARCHAR')), 'vector');
  },
};

/** Functions of vectors. */
export const SQL_VECTOR_FUNCTIONS: readonly FunctionRule[] = [
  parse,
  rule('vec_to_string', 'v', 'text'),
  rule('vec_dim', 'v', 'int'),
  rule('vec_kth_elem', 'vi', 'float'),
  rule('vec_subvector', 'vii', 'vector'),
  rule('vec_norm', 'v', 'vector'),
  rule('vec_dot_product', 'vv', 'float'),
  rule('vec_l2sq_distance', 'vv', 'float'),
  rule('vec_cos_distance', 'vv', 'float'),
  rule('vec_add', 'vv', 'vector'),
  rule('vec_sub', 'vv', 'vector'),
  rule('vec_mul', 'vv', 'vector'),
  rule('vec_div', 'vv', 'vector'),
  rule('vec_scalar_add', 'nv', 'vector'),
  rule('vec_scalar_mul', 'nv', 'vector'),
  rule('vec_elem_sum', 'v', 'float'),
  rule('vec_elem_product', 'v', 'float'),
  rule('vec_elem_avg', 'v', 'float'),
  aggregate('vec_sum'),
  aggregate('vec_product'),
  aggregate('vec_avg'),
];
