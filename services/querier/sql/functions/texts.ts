import { AlmanacError } from '#shared/errors/almanac-error';

import { call, cast, copy, textConstant, textNode, type Ast } from '../syntax/ast.js';
import { argumentsOf, type FunctionRule, type KnownType } from './function.js';
import { checkExpansion, macroName } from './macros.js';

const list = (items: readonly Ast[]): Ast => call('list_value', ...items);

/** `elt(n, a, b, ..)` and `field(s, a, b, ..)`. */
const chosen = (name: string): FunctionRule => ({
  names: [name],
  rewrite(node) {
    const [first, ...rest] = argumentsOf(node, 2, 1000);
    return call(macroName(name), first, list(rest));
  },
});

/** `format(x, d)` groups digits; the engine's own takes a template first. */
const format: FunctionRule = {
  names: ['format'],
  rewrite(node, context) {
    const [value, digits] = node.children ?? [];
    const type = digits === undefined ? undefined : context.typeOf(value);
    const isNumber = type === 'int' || type === 'float' || type?.startsWith('decimal') === true;
    return isNumber ? context.typed(call(macroName('format'), value, digits), 'text') : node;
  },
};

/** Bytes of a text or a binary value. */
const octetLength: FunctionRule = {
  names: ['octet_length'],
  rewrite(node, context) {
    const [value] = argumentsOf(node, 1, 1);
    return context.typeOf(value) === 'binary' ? node : context.typed(call('strlen', value), 'int');
  },
};

/** `encode(x, 'hex')` and `decode(text, 'base64')`; with one argument they are the engine's own. */
const coding = (name: string): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const [value, kind] = argumentsOf(node, 1, 2);
    if (node.children?.length === 1) return node;
    const isText = name === 'encode' && context.typeOf(value) === 'text';
    const bytes = isText ? call('encode', value) : value;
    return context.typed(call(macroName(name), bytes, kind), name === 'encode' ? 'text' : 'binary');
  },
});

/** `digest(x, 'sha256')`, and `sha224(x)` and the like. */
const digest = (name: string, algorithm?: string): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const [value, kind] = argumentsOf(node, algorithm === undefined ? 2 : 1, algorithm === undefined ? 2 : 1);
    const isBinary = context.typeOf(value) === 'binary';
    const bytes = isBinary ? value : call('encode', cast(value, 'VARCHAR'));
    return context.typed(call('almanac_digest', bytes, algorithm === undefined ? kind : textNode(algorithm)), 'binary');
  },
});

/** `regexp_match(text, pattern [, flags])` and `regexp_instr`. */
const regexp = (name: string, returns?: KnownType): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const [text, pattern, flags = textNode('')] = argumentsOf(node, 2, 3);
    const parts = [text, pattern, flags].map((part) => cast(part, 'VARCHAR'));
    return context.typed(call(`almanac_${name}`, ...parts), returns);
  },
});

/** Pads with spaces unless a text is given; the engine needs one. */
const pad = (name: string): FunctionRule => ({
  names: [name],
  rewrite(node) {
    const [text, length, fill = textNode(' ')] = argumentsOf(node, 2, 3);
    // A greater length is an error of the cast.
    return { ...node, children: [text, cast(length, 'SMALLINT'), fill] };
  },
});

/** `named_struct('a', 1, ..)` and `struct(1, ..)`, whose members are `c0`, `c1`, .. */
const structure = (name: string): FunctionRule => ({
  names: [name],
  rewrite(node) {
    const given = argumentsOf(node, 1, 1000);
    const isNamed = name === 'named_struct';
    const values = isNamed ? given.filter((_, i) => i % 2 === 1) : given;
    const members = values.map((value, i) => {
      const member = isNamed ? textConstant(given[2 * i]) : `c${i}`;
      if (member === undefined) {
        throw new AlmanacError('plan_query', `Failed to plan SQL: ${name} needs names as texts`);
      }
      return { ...value, alias: member };
    });
    return call('struct_pack', ...members);
  },
});

/** The engine returns an empty text where nothing matches. */
const regexpExtract: FunctionRule = {
  names: ['regexp_extract'],
  rewrite(node, context) {
    if (node.class !== 'FUNCTION' || (node.children?.length ?? 0) > 2) return node;
    const result = call('nullif', { ...copy(node), alias: '' }, textNode(''));
    checkExpansion(result);
    return context.typed(result, 'text');
  },
};

/** Functions of texts. */
export const SQL_TEXT_FUNCTIONS: readonly FunctionRule[] = [
  chosen('elt'),
  chosen('field'),
  format,
  octetLength,
  coding('encode'),
  coding('decode'),
  regexpExtract,
  regexp('regexp_match'),
  regexp('regexp_instr', 'int'),
  digest('digest'),
  digest('sha224', 'sha224'),
  digest('sha384', 'sha384'),
  digest('sha512', 'sha512'),
  pad('lpad'),
  pad('rpad'),
  structure('named_struct'),
  structure('struct'),
];
