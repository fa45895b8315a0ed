import { ScriptFailure } from '../machine.js';
import { kindBit, kindName, Kinds } from '../types.js';
import { isArray, isObject, type PipelineValue } from '../../values/value.js';
import { defineFunctions, type ScriptFunction } from './script-function.js';

const WORDS = ['array', 'boolean', 'float', 'integer', 'object', 'string', 'timestamp', 'null', 'regex'] as const;
/** Functions that return a value if it has a kind. */
const ASSERTIONS = {
  array: 'array',
  bool: 'boolean',
  float: 'float',
  int: 'integer',
  object: 'object',
  string: 'string',
  timestamp: 'timestamp',
} as const;

const value = { name: 'value', kinds: Kinds.any };

function isNullish(given: PipelineValue): boolean {
  return given === null || (typeof given === 'string' && (given.trim() === '' || given === '-'));
}

/** Functions that check the kind of a value. */
export const KIND_FUNCTIONS = defineFunctions([
  ...WORDS.map((word): ScriptFunction => ({
    name: `is_${word}`,
    parameters: [{ name: 'value', kinds: Kinds.any | Kinds.regex }],
    returns: Kinds.boolean,
    canFail: false,
    run: ([given = null]) => kindBit(given) === Kinds[word],
  })),
  ...Object.entries(ASSERTIONS).map(([name, kind]): ScriptFunction => ({
    name,
    parameters: [value],
    returns: Kinds[kind],
    canFail: ([type]) => type?.kinds !== Kinds[kind],
    run: ([given = null]) => {
      if (kindBit(given) === Kinds[kind]) return given;
      throw new ScriptFailure(`function call error for "${name}": expected ${kind}, got ${kindName(given)}`);
    },
  })),
  {
    name: 'is_nullish',
    parameters: [value],
    returns: Kinds.boolean,
    canFail: false,
    run: ([given]) => isNullish(given as PipelineValue),
  },
  {
    name: 'is_empty',
    parameters: [{ name: 'value', kinds: Kinds.string | Kinds.array | Kinds.object }],
    returns: Kinds.boolean,
    canFail: false,
    run: ([given]) => {
      const it = given as PipelineValue;
      if (isObject(it)) return it.size === 0;
      return isArray(it) || typeof it === 'string' ? it.length === 0 : false;
    },
  },
  {
    name: 'is_json',
    parameters: [{ name: 'value', kinds: Kinds.string }],
    returns: Kinds.boolean,
    canFail: false,
    run: ([given]) => {
      try {
        JSON.parse(given as string);
        return true;
      } catch {
        return false;
      }
    },
  },
]);
