import { buildError } from '../build-error.js';
import { isArray, isObject, type ObjectValue, type PipelineValue } from '../values/value.js';

const TESTS_MAX = 100;
const ROWS_MAX = 1_000;

/** A test in a pipeline document: items, and the rows or the error that they must give. */
export interface PipelineTest {
  readonly name: string;
  /** Items as a list of objects, or lines of text. */
  readonly input: string | readonly PipelineValue[];
  /** Values by column; undefined if an error is expected. */
  readonly expect: readonly ObjectValue[] | undefined;
  /** Part of the text of the error. */
  readonly error: string | undefined;
}

/** Compiles the key `tests` of a pipeline. @throws `invalid_arguments`. */
export function compileTests(given: PipelineValue): PipelineTest[] {
  if (given === null) return [];
  if (!isArray(given)) throw buildError('tests must be a list');
  if (given.length > TESTS_MAX) throw buildError(`pipeline has more than ${TESTS_MAX} tests`);
  return given.map((entry, i) => {
    if (!isObject(entry)) throw buildError(`tests[${i}] must be a map`);
    return compileTest(entry, `tests[${i}]`);
  });
}

function compileTest(entry: ObjectValue, at: string): PipelineTest {
  const name = entry.get('name') ?? at;
  if (typeof name !== 'string') throw buildError(`${at}: name must be a text`);
  const error = entry.get('error') ?? undefined;
  if (error !== undefined && typeof error !== 'string') throw buildError(`${at}: error must be a part of its text`);
  const expected = entry.get('expect') ?? undefined;
  if ((expected === undefined) === (error === undefined)) throw buildError(`${at} needs either expect or error`);
  const expect = expected === undefined ? undefined : rowsOf(expected, at);
  return { name, input: inputOf(entry.get('input') ?? null, at), expect, error };
}

function inputOf(given: PipelineValue, at: string): PipelineTest['input'] {
  if (typeof given === 'string') return given;
  const items = isObject(given) ? [given] : given;
  if (!isArray(items) || items.length === 0 || items.length > ROWS_MAX) {
    throw buildError(`${at}: input must be an object, a list of 1 to ${ROWS_MAX} objects, or text`);
  }
  return items;
}

function rowsOf(given: PipelineValue, at: string): ObjectValue[] {
  const rows = isObject(given) ? [given] : given;
  if (!isArray(rows)) throw buildError(`${at}: expect must be a list of rows`);
  return rows.map((row) => {
    if (!isObject(row)) throw buildError(`${at}: a row must be a map of columns`);
    return row;
  });
}
