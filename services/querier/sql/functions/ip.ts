import { call, cast, integerConstant } from '../syntax/ast.js';
import { argumentsOf, type FunctionRule, type KnownType } from './function.js';

/** @param types engine type of each argument. */
const rule = (name: string, types: readonly string[], returns: KnownType): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const given = argumentsOf(node, types.length, types.length);
    return context.typed(call(`almanac_${name}`, ...given.map((argument, i) => cast(argument, types[i]))), returns);
  },
});

/** `ipv4_to_cidr(address [, prefix length])`. */
const cidr = (name: string): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const [address, prefix = integerConstant(-1)] = argumentsOf(node, 1, 2);
    return context.typed(call(`almanac_${name}`, cast(address, 'VARCHAR'), cast(prefix, 'BIGINT')), 'text');
  },
});

/** Functions of IP addresses. */
export const IP_FUNCTIONS: readonly FunctionRule[] = [
  cidr('ipv4_to_cidr'),
  cidr('ipv6_to_cidr'),
  rule('ipv4_in_range', ['VARCHAR', 'VARCHAR'], 'bool'),
  rule('ipv6_in_range', ['VARCHAR', 'VARCHAR'], 'bool'),
  rule('ipv4_num_to_string', ['BIGINT'], 'text'),
  rule('ipv4_string_to_num', ['VARCHAR'], 'int'),
  rule('ipv6_num_to_string', ['VARCHAR'], 'text'),
  rule('ipv6_string_to_num', ['VARCHAR'], 'binary'),
];
