import { AlmanacError } from '#shared/errors/almanac-error';

import { parseJsonPath, type JsonStep } from '../json/path.js';
import { call, cast, textConstant, textNode, type Ast } from '../syntax/ast.js';
import { argumentsOf, type FunctionContext, type FunctionRule, type KnownType } from './function.js';
import { checkExpansion, macroName } from './macros.js';

/** Builds the value that a path leads to, as JSON. */
function extracted(json: Ast, path: Ast): Ast {
  const text = textConstant(path);
  const native = text === undefined ? undefined : nativePath(parseJsonPath(text));
  return native === undefined
    ? call('almanac_json_path', cast(json, 'VARCHAR'), path)
    : call('json_extract', json, textNode(native));
}

/** Returns the path in the engine's syntax; undefined if it has steps that the engine lacks. */
function nativePath(steps: readonly JsonStep[]): string | undefined {
  let path = '$';
  for (const step of steps) {
    if (step.kind === 'key' && !/["\\]/.test(step.key)) path += `."${step.key}"`;
    else if (step.kind === 'indexes' && step.ranges.length === 1) {
      const [from, to] = step.ranges[0];
      if (from !== to || from.fromLast) return undefined;
      path += `[${from.offset}]`;
    } else return undefined;
  }
  return path;
}

/** Function that converts a JSON value to each type. */
const CONVERSIONS: Readonly<Partial<Record<KnownType, string>>> = {
  int: macroName('json_int'),
  float: macroName('json_float'),
  bool: macroName('json_bool'),
  text: macroName('json_text'),
};
const TEXT_OF_PATH = macroName('json_text');

function converted(name: string, value: Ast): Ast {
  const node = call(name, value);
  checkExpansion(node);
  return node;
}

const getter = (name: string, conversion: string, returns: KnownType): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const [json, path] = argumentsOf(node, 2, 2);
    return context.typed(converted(macroName(conversion), extracted(json, path)), returns);
  },
});

/** `json_get(j, path [, type])`: a text, unless a cast or an operator needs another type. */
const get: FunctionRule = {
  names: ['json_get'],
  rewrite(node, context) {
    const [json, path, type] = argumentsOf(node, 2, 3);
    const text = jsonPathText(json, path, context);
    return (type as Ast | undefined) === undefined ? text : (jsonPathAs(text, context.typeOf(type), context) ?? text);
  },
};

/** Builds the text of what a path leads to. */
export function jsonPathText(json: Ast, path: Ast, context: Pick<FunctionContext, 'typed'>): Ast {
  return context.typed(converted(TEXT_OF_PATH, extracted(json, path)), 'text');
}

/** Returns what a path leads to as another type; undefined if the node is no text of a path, or the type is none of JSON's. */
export function jsonPathAs(
  node: Ast,
  type: KnownType | undefined,
  context: Pick<FunctionContext, 'typed'>,
): Ast | undefined {
  const name = type === undefined ? undefined : CONVERSIONS[type];
  if (name === undefined || node.function_name !== TEXT_OF_PATH) return undefined;
  return context.typed({ ...node, function_name: name }, type);
}

const parse: FunctionRule = {
  names: ['parse_json', 'to_json', 'json'],
  rewrite(node, context) {
    if (node.function_name !== 'parse_json') return context.typed(node, 'json');
    const [text] = argumentsOf(node, 1, 1);
    return context.typed(call('json', cast(text, 'VARCHAR')), 'json');
  },
};

const toText: FunctionRule = {
  names: ['json_to_string'],
  rewrite(node, context) {
    const [json] = argumentsOf(node, 1, 1);
    return context.typed(call('almanac_json_sorted', cast(json, 'VARCHAR')), 'text');
  },
};

const exists: FunctionRule = {
  names: ['json_path_exists'],
  rewrite(node, context) {
    const [json, path] = argumentsOf(node, 2, 2);
    return context.typed(call('almanac_json_path_exists', cast(json, 'VARCHAR'), cast(path, 'VARCHAR')), 'bool');
  },
};

const match: FunctionRule = {
  names: ['json_path_match'],
  rewrite(node, context) {
    const [json, path] = argumentsOf(node, 2, 2);
    return context.typed(call('almanac_json_path_match', cast(json, 'VARCHAR'), cast(path, 'VARCHAR')), 'bool');
  },
};

const keys: FunctionRule = {
  names: ['json_object_keys'],
  rewrite(node) {
    const [json] = argumentsOf(node, 1, 1);
    return converted(macroName('json_keys_of'), cast(json, 'VARCHAR'));
  },
};

/** Types of JSON values as the engine names them. */
const is = (name: string, ...types: readonly string[]): FunctionRule => ({
  names: [name],
  rewrite(node, context) {
    const [json] = argumentsOf(node, 1, 1);
    const isType = {
      class: 'OPERATOR',
      type: 'COMPARE_IN',
      alias: '',
      children: [call('json_type', cast(json, 'VARCHAR')), ...types.map(textNode)],
    } satisfies Ast;
    return context.typed(isType, 'bool');
  },
});

const object: FunctionRule = {
  names: ['json_object'],
  rewrite(node, context) {
    for (const argument of node.children ?? []) {
      const type = context.typeOf(argument) ?? '';
      if (context.unitOf(argument) !== undefined || type.startsWith('decimal') || type === 'interval') {
        const name = context.unitOf(argument) === undefined ? type : 'timestamp';
        throw new AlmanacError(
          'execute_query',
          `json_object does not support values of type ${name}; cast the value to a string`,
        );
      }
    }
    return context.typed(node, 'json');
  },
};

/** Functions of JSON values. */
export const JSON_FUNCTIONS: readonly FunctionRule[] = [
  parse,
  toText,
  get,
  getter('json_get_int', 'json_int', 'int'),
  getter('json_get_float', 'json_float', 'float'),
  getter('json_get_bool', 'json_bool', 'bool'),
  getter('json_get_string', 'json_scalar', 'text'),
  getter('json_get_object', 'json_object_of', 'json'),
  exists,
  match,
  keys,
  object,
  is('json_is_null', 'NULL'),
  is('json_is_bool', 'BOOLEAN'),
  is('json_is_int', 'BIGINT', 'UBIGINT'),
  is('json_is_float', 'DOUBLE', 'BIGINT', 'UBIGINT'),
  is('json_is_string', 'VARCHAR'),
  is('json_is_object', 'OBJECT'),
  is('json_is_array', 'ARRAY'),
];
