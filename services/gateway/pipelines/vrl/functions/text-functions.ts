import { Pattern } from '../../text/pattern.js';
import { printValue, isArray, type PipelineValue } from '../../values/value.js';
import { ScriptFailure, type ScriptMachine } from '../machine.js';
import { Kinds } from '../types.js';
import { compileReplacement } from '../../text/pattern.js';
import { defineFunctions, type Arguments, type Parameter, type ScriptFunction } from './script-function.js';

const text: Parameter = { name: 'value', kinds: Kinds.string };
const pattern: Parameter = { name: 'pattern', kinds: Kinds.string | Kinds.regex };
const caseSensitive: Parameter = { name: 'case_sensitive', kinds: Kinds.boolean, isOptional: true };

const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

/** Defines a function of strings that cannot fail. */
function textFunction(
  name: string,
  more: readonly Parameter[],
  returns: number,
  run: (given: string, others: Arguments, machine: ScriptMachine) => PipelineValue,
): ScriptFunction {
  return {
    name,
    parameters: [text, ...more],
    returns,
    canFail: false,
    run: ([given, ...others], machine) => run(given as string, others, machine),
  };
}

function folded(given: string, isSensitive: unknown): string {
  return isSensitive === false ? given.toLowerCase() : given;
}

function replaced(given: string, [by, replacement, limit = -1n]: Arguments, machine: ScriptMachine): string {
  const template = replacement as string;
  let left = Number(limit);
  const take = (match: string, found: string): string => {
    if (left === 0) return match;
    left--;
    machine.use(found.length);
    return found;
  };
  if (by instanceof Pattern) {
    const expand = compileReplacement(template, by);
    return by.replaceAll(given, (match) => take(match.group() ?? '', expand(match)));
  }
  return given.replaceAll(by as string, (match) => take(match, template));
}

function sliced(given: PipelineValue, from: bigint, to: bigint | undefined): PipelineValue {
  if (typeof given === 'string') return slicedArray(Array.from(given), from, to).join('');
  return slicedArray(given as readonly PipelineValue[], from, to);
}

function slicedArray<T>(all: readonly T[], from: bigint, to: bigint | undefined): T[] {
  const position = (at: bigint): number => (at < 0n ? all.length + Number(at) : Number(at));
  const start = position(from);
  const end = to === undefined ? all.length : position(to);
  if (start < 0 || start > all.length) throw new ScriptFailure(`"start" must be between "0" and "${all.length}"`);
  if (end < start) throw new ScriptFailure('"end" must be greater or equal to "start"');
  return all.slice(start, end);
}

function words(given: string): string[] {
  return given
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Functions of strings. */
export const TEXT_FUNCTIONS = defineFunctions([
  textFunction('upcase', [], Kinds.string, (given) => given.toUpperCase()),
  textFunction('downcase', [], Kinds.string, (given) => given.toLowerCase()),
  textFunction('strip_whitespace', [], Kinds.string, (given) => given.trim()),
  textFunction('strip_ansi_escape_codes', [], Kinds.string, (given) => given.replace(ANSI, '')),
  textFunction('strlen', [], Kinds.integer, (given) => BigInt(Array.from(given).length)),
  textFunction('camelcase', [], Kinds.string, (given) => {
    return words(given)
      .map((word, i) => (i === 0 ? word : capital(word)))
      .join('');
  }),
  textFunction('pascalcase', [], Kinds.string, (given) => words(given).map(capital).join('')),
  textFunction('snakecase', [], Kinds.string, (given) => words(given).join('_')),
  textFunction('kebabcase', [], Kinds.string, (given) => words(given).join('-')),
  textFunction(
    'contains',
    [{ name: 'substring', kinds: Kinds.string }, caseSensitive],
    Kinds.boolean,
    (given, [part, exact]) => folded(given, exact).includes(folded(part as string, exact)),
  ),
  textFunction(
    'starts_with',
    [{ name: 'substring', kinds: Kinds.string }, caseSensitive],
    Kinds.boolean,
    (given, [part, exact]) => folded(given, exact).startsWith(folded(part as string, exact)),
  ),
  textFunction(
    'ends_with',
    [{ name: 'substring', kinds: Kinds.string }, caseSensitive],
    Kinds.boolean,
    (given, [part, exact]) => folded(given, exact).endsWith(folded(part as string, exact)),
  ),
  textFunction(
    'replace',
    [pattern, { name: 'with', kinds: Kinds.string }, { name: 'count', kinds: Kinds.integer, isOptional: true }],
    Kinds.string,
    replaced,
  ),
  textFunction('split', [pattern, { name: 'limit', kinds: Kinds.integer, isOptional: true }], Kinds.array, splitText),
  textFunction('match', [{ name: 'pattern', kinds: Kinds.regex }], Kinds.boolean, (given, [by]) =>
    (by as Pattern).test(given),
  ),
  textFunction(
    'truncate',
    [
      { name: 'limit', kinds: Kinds.integer },
      { name: 'suffix', kinds: Kinds.string, isOptional: true },
    ],
    Kinds.string,
    (given, [limit, suffix = '']) => {
      const letters = Array.from(given);
      const most = Math.max(Number(limit), 0);
      return letters.length <= most ? given : letters.slice(0, most).join('') + (suffix as string);
    },
  ),
  textFunction(
    'find',
    [pattern, { name: 'from', kinds: Kinds.integer, isOptional: true }],
    Kinds.integer | Kinds.null,
    (given, [by, from = 0n]) => {
      const start = Number(from);
      const rest = given.slice(start);
      const at = by instanceof Pattern ? (by.find(rest)?.start() ?? -1) : rest.indexOf(by as string);
      return at < 0 ? null : BigInt(at + start);
    },
  ),
  {
    name: 'join',
    parameters: [
      { name: 'value', kinds: Kinds.array },
      { name: 'separator', kinds: Kinds.string, isOptional: true },
    ],
    returns: Kinds.string,
    canFail: true,
    run: ([given, separator = ''], machine) => {
      const parts = given as readonly PipelineValue[];
      if (!parts.every((part) => typeof part === 'string')) throw new ScriptFailure('all array items must be strings');
      machine.use(parts.length * (separator as string).length);
      return parts.join(separator as string);
    },
  },
  {
    name: 'slice',
    parameters: [
      { name: 'value', kinds: Kinds.string | Kinds.array },
      { name: 'start', kinds: Kinds.integer },
      { name: 'end', kinds: Kinds.integer, isOptional: true },
    ],
    returns: ([type]) => (type?.kinds ?? Kinds.any) & (Kinds.string | Kinds.array),
    canFail: true,
    run: ([given, from, to]) => sliced(given as PipelineValue, from as bigint, to as bigint | undefined),
  },
  {
    name: 'length',
    parameters: [{ name: 'value', kinds: Kinds.string | Kinds.array | Kinds.object }],
    returns: Kinds.integer,
    canFail: false,
    run: ([given]) => {
      const it = given as PipelineValue;
      if (typeof it === 'string') return BigInt(Buffer.byteLength(it));
      return BigInt(isArray(it) ? it.length : (it as ReadonlyMap<string, unknown>).size);
    },
  },
  {
    name: 'match_any',
    parameters: [text, { name: 'patterns', kinds: Kinds.array }],
    returns: Kinds.boolean,
    canFail: true,
    run: ([given, patterns]) => {
      return (patterns as readonly PipelineValue[]).some((source) =>
        new Pattern(printValue(source)).test(given as string),
      );
    },
  },
]);

function splitText(given: string, [by, limit]: Arguments, machine: ScriptMachine): PipelineValue {
  const most = limit === undefined ? Infinity : Number(limit);
  const parts: string[] = [];
  let from = 0;
  const cut = (start: number, end: number): void => {
    machine.step();
    parts.push(given.slice(from, start));
    from = end;
  };
  if (by instanceof Pattern) {
    by.each(given, (match) => {
      if (parts.length < most - 1) cut(match.start(), match.end());
    });
  } else {
    const separator = by as string;
    if (separator === '') return Array.from(given);
    for (let at = given.indexOf(separator); at >= 0 && parts.length < most - 1; at = given.indexOf(separator, from)) {
      cut(at, at + separator.length);
    }
  }
  parts.push(given.slice(from));
  return parts;
}
