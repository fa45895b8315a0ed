import { AlmanacError } from '#shared/errors/almanac-error';

import { buildError } from '../pipelines/build-error.js';
import type { PipelineTest } from '../pipelines/document/document-tests.js';
import type { PipelineSet } from '../pipelines/run.js';
import { parseTree } from '../pipelines/values/parse-tree.js';
import {
  canonicalJson,
  isArray,
  isObject,
  shortened,
  type ObjectValue,
  type PipelineValue,
} from '../pipelines/values/value.js';
import { stringifyJson } from '../protocols/common/json.js';
import { readParameters } from '../protocols/common/pipeline/parameters.js';
import { runTrial, trialTables, TRIAL_TABLE } from './trial.js';

/** Key of an expected row for the suffix of its table. */
const SUFFIX_KEY = 'table_suffix';

/** Runs the tests of a pipeline document. @throws `invalid_arguments` for the first that fails. */
export function runDocumentTests(pipelines: PipelineSet, timeColumn: string, nowNs: bigint): void {
  for (const test of pipelines.root.extras.tests) {
    const reason = failureOf(test, pipelines, timeColumn, nowNs);
    if (reason !== undefined) throw buildError(`test "${test.name}" fails: ${reason}`);
  }
}

/** Returns why a test fails; undefined if it passes. */
function failureOf(
  { input, expect, error }: PipelineTest,
  pipelines: PipelineSet,
  timeColumn: string,
  nowNs: bigint,
): string | undefined {
  let made: ObjectValue[];
  try {
    made = rowsOf(input, pipelines, timeColumn, nowNs);
  } catch (thrown) {
    const { publicMessage } = AlmanacError.from(thrown);
    if (error === undefined) return publicMessage;
    return publicMessage.includes(error) ? undefined : `expected the error "${error}", got "${publicMessage}"`;
  }
  if (expect === undefined) return `expected the error "${error ?? ''}", got ${made.length} rows`;
  if (made.length !== expect.length) return `expected ${expect.length} rows, got ${made.length}`;
  const at = expect.findIndex((row, i) => !isSameRow(row, made[i]));
  if (at < 0) return undefined;
  return `row ${at}: expected ${shownRow(expect[at])}, got ${shownRow(made[at])}`;
}

/** Returns the rows: values by column, without nulls, and without a time of receipt. */
function rowsOf(
  input: PipelineTest['input'],
  pipelines: PipelineSet,
  timeColumn: string,
  nowNs: bigint,
): ObjectValue[] {
  const isText = typeof input === 'string';
  const decoder = runTrial({
    pipelines,
    parameters: { ...readParameters(() => undefined), onError: 'fail' },
    type: isText ? 'text/plain' : 'application/json',
    data: Buffer.from(isText ? input : canonicalJson(input)),
    nowNs,
  });
  const tables = parseTree(stringifyJson(trialTables(decoder)));
  return listOf(tables).flatMap((table) => {
    const name = isObject(table) ? table.get('table_name') : undefined;
    const suffix = typeof name === 'string' ? name.slice(TRIAL_TABLE.length) : '';
    return listOf(isObject(table) ? (table.get('rows') ?? null) : null).map((row) => {
      return rowOf(listOf(row), suffix, { timeColumn, nowNs });
    });
  });
}

function rowOf(
  cells: readonly PipelineValue[],
  suffix: string,
  receipt: { readonly timeColumn: string; readonly nowNs: bigint },
): ObjectValue {
  const row: ObjectValue = new Map();
  if (suffix !== '') row.set(SUFFIX_KEY, suffix);
  for (const cell of cells) {
    if (!isObject(cell)) continue;
    const [key, value] = [cell.get('key'), cell.get('value') ?? null];
    const isReceipt = key === receipt.timeColumn && value === receipt.nowNs;
    if (typeof key === 'string' && value !== null && !isReceipt) row.set(key, value);
  }
  return row;
}

function listOf(value: PipelineValue): readonly PipelineValue[] {
  return isArray(value) ? value : [];
}

/** Null, and an absent column, are the same. */
function isSameRow(expected: ObjectValue, made: ObjectValue): boolean {
  const present = [...expected].filter(([, value]) => value !== null);
  return present.length === made.size && present.every(([key, value]) => isSame(value, made.get(key) ?? null));
}

/** Numbers are equal by value, whether they are integers or not. */
function isSame(a: PipelineValue, b: PipelineValue): boolean {
  const isNumber = (it: PipelineValue): it is number | bigint => typeof it === 'number' || typeof it === 'bigint';
  if (isNumber(a) && isNumber(b)) return typeof a === typeof b ? a === b : Number(a) === Number(b);
  if (isArray(a) && isArray(b)) return a.length === b.length && a.every((it, i) => isSame(it, b[i]));
  if (isObject(a) && isObject(b)) {
    return a.size === b.size && [...a].every(([key, value]) => b.has(key) && isSame(value, b.get(key) ?? null));
  }
  return canonicalJson(a) === canonicalJson(b);
}

function shownRow(row: ObjectValue): string {
  return shortened(canonicalJson(row));
}
