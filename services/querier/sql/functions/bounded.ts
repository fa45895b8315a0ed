import { AlmanacError } from '#shared/errors/almanac-error';

import { call, cast, copy, integerConstant, operator, textNode, type Ast } from '../syntax/ast.js';
import type { FunctionContext, FunctionRule } from './function.js';

/**
 * Most elements or characters that one call creates from a number. The engine does not count what scalar functions allocate,
 * so that `range(1000000000)` would take 24 GB and end the process. It is also the limit of the type `SMALLINT`.
 */
const COUNT_MAX = 32_767;

/** The count is cast to SMALLINT: a greater one is an error of the cast. */
const counted = (position: number, ...names: string[]): FunctionRule => ({
  names,
  rewrite(node) {
    const count = node.children?.[position];
    if (node.children !== undefined && count !== undefined) node.children[position] = cast(count, 'SMALLINT');
    return node;
  },
});

/** As scalar functions; in FROM they produce their rows one by one and need no bound. */
const series: FunctionRule = {
  names: ['range', 'generate_series'],
  rewrite(node, context) {
    const [first, second, step = integerConstant(1)] = node.children ?? [];
    if (node.class !== 'FUNCTION' || first === undefined) return node;
    // The bounds occur in the text twice, so nested calls would double it with each level.
    if (/"function_name":"(range|generate_series)"/.test(JSON.stringify(node.children))) {
      const name = node.function_name ?? '';
      throw new AlmanacError('unsupported', `Not supported: ${name} in an argument of ${name}; use it in FROM`);
    }
    const begin = second === undefined ? integerConstant(0) : size(first, context);
    const length = operator('-', size(second ?? first, context), begin);
    const most = operator('*', integerConstant(COUNT_MAX), call('abs', size(step, context)));
    const isLong = {
      class: 'COMPARISON',
      type: 'COMPARE_GREATERTHAN',
      alias: '',
      left: call('abs', length),
      right: most,
    };
    const failure = call('error', textNode(`more than ${COUNT_MAX} elements in one list; in FROM there may be more`));
    return {
      class: 'CASE',
      type: 'CASE_EXPR',
      alias: '',
      case_checks: [{ when_expr: isLong, then_expr: failure }],
      else_expr: node,
    } as Ast;
  },
};

/** Casts a bound or step to a number; null, and so without a bound, if its type is not expected. */
function size(argument: Ast, context: FunctionContext): Ast {
  const isTime = context.unitOf(argument) !== undefined || argument.cast_type?.id === 'INTERVAL';
  if (isTime) return call('epoch', copy(argument));
  return Object.assign(cast(copy(argument), 'DOUBLE'), { try_cast: true });
}

/** Functions whose result size is an argument. */
export const BOUNDED_FUNCTIONS: readonly FunctionRule[] = [
  counted(1, 'repeat', 'list_resize', 'array_resize', 'bitstring'),
  counted(2, 'equi_width_bins'),
  counted(3, 'bar'),
  series,
];
