import { call, copy, textNode, type Ast } from '../syntax/ast.js';
import { argumentsOf, type FunctionRule } from './function.js';
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
];
