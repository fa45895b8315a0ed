import { CR, LF } from '#shared/bytes/ascii';
import { AlmanacError } from '#shared/errors/almanac-error';
import { parseByteSize } from '#shared/time/byte-size';

import { buildError } from '../build-error.js';
import { Pattern } from '../text/pattern.js';
import { isObject, printValue, type ObjectValue, type PipelineValue } from '../values/value.js';

const LINES_DEFAULT = 500;
const LINES_MAX = 10_000;
const BYTES_DEFAULT = 1024 * 1024;
const BYTES_MAX = 16 * 1024 * 1024;
/** Bytes at the start of a line that the pattern sees. */
const TESTED_BYTES_MAX = 8 * 1024;

/** Lines of a text that belong together. */
export interface LineGroup {
  /** The text is `[from, to)`, without the end of its last line. */
  readonly from: number;
  readonly to: number;
  /** Where the next line begins. */
  readonly next: number;
}

/** Joins lines to items: each begins with a line that matches a pattern (spec: pipelines 20.2). */
export class Multiline {
  readonly #firstLine: Pattern;
  readonly #linesMax: number;
  readonly #bytesMax: number;

  constructor(firstLine: Pattern, linesMax: number, bytesMax: number) {
    this.#firstLine = firstLine;
    this.#linesMax = linesMax;
    this.#bytesMax = bytesMax;
  }

  /**
   * Returns the group of the line that begins at `from`; undefined if only blank lines follow. A group that reaches a limit
   * ends there, and the line after it begins another one.
   */
  groupAt(bytes: Buffer, from: number): LineGroup | undefined {
    let at = from;
    let first = lineAt(bytes, at);
    while (first.from === first.to && first.next < bytes.length) first = lineAt(bytes, (at = first.next));
    if (at >= bytes.length || first.from === first.to) return undefined;
    let { to, next } = first;
    for (let lines = 1; lines < this.#linesMax && next < bytes.length; lines++) {
      const line = lineAt(bytes, next);
      if (line.to - at > this.#bytesMax || this.#isFirst(bytes, line)) break;
      // Blank lines stay within a group, but not at its end.
      if (line.to > line.from) ({ to } = line);
      ({ next } = line);
    }
    return { from: at, to, next };
  }

  #isFirst(bytes: Buffer, { from, to }: LineGroup): boolean {
    return this.#firstLine.test(bytes.toString('utf8', from, Math.min(to, from + TESTED_BYTES_MAX)));
  }
}

/** Returns the line that begins at `from`, without its end. */
export function lineAt(bytes: Buffer, from: number): LineGroup {
  const found = bytes.indexOf(LF, from);
  const end = found < 0 ? bytes.length : found;
  return { from, to: end > from && bytes[end - 1] === CR ? end - 1 : end, next: end + 1 };
}

/** Compiles the key `multiline` of a pipeline. @throws `invalid_arguments`. */
export function compileMultiline(given: PipelineValue): Multiline | undefined {
  if (given === null) return undefined;
  if (!isObject(given)) throw buildError('multiline must be a map');
  const firstLine = given.get('first_line');
  if (typeof firstLine !== 'string') throw buildError('multiline needs first_line: a pattern that matches first lines');
  const lines = limitOf(given, 'max_lines', LINES_DEFAULT, LINES_MAX, Number);
  const bytes = limitOf(given, 'max_bytes', BYTES_DEFAULT, BYTES_MAX, sizeOf);
  return new Multiline(new Pattern(firstLine), lines, bytes);
}

function limitOf(
  options: ObjectValue,
  name: string,
  byDefault: number,
  max: number,
  parse: (text: string) => number,
): number {
  const given = options.get(name) ?? null;
  if (given === null) return byDefault;
  const limit = parse(printValue(given));
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= max) return limit;
  throw buildError(`multiline: ${name} must be 1 to ${max}, not ${printValue(given)}`);
}

function sizeOf(text: string): number {
  try {
    return parseByteSize(text);
  } catch (error) {
    throw buildError(`multiline: max_bytes: ${AlmanacError.from(error).publicMessage}`);
  }
}
