import { isUtf8 } from 'node:buffer';

import type { Tag } from '#shared/rowbatch/series-key';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { COLUMNS_MAX } from '#shared/schema/names';

import { columnOf, isMetricName, type LabelRules, type ParsedSeries } from './labels.js';
import type { WireReader } from '#shared/protobuf/wire-reader';

const NAME_TAG = 0x0a;
const VALUE_TAG = 0x12;
const NAMES_MAX = 10_000;
const ASCII = /^[\u0001-\u007f]+$/;

/**
 * Reads labels as nearly all senders write them: names of ASCII in order, none twice, none that says where a series goes.
 *
 * What holds for a name is looked up, and nothing has to be sorted: a tenth of the time that `parseSeries` takes.
 */
export class UsualLabels {
  readonly #rules: LabelRules;
  /** Columns by name; undefined for names that are not usual. */
  readonly #columns = new Map<string, string | undefined>();

  constructor(rules: LabelRules) {
    this.#rules = rules;
  }

  /** The series of the labels in `[from, to)`; undefined if anything about them is unusual, right or wrong. */
  parse(scanner: WireReader, from: number, to: number): ParsedSeries | undefined {
    const { bytes } = scanner;
    const tags: Tag[] = [];
    let metric = '';
    let before = '';
    let count = 0;
    for (let at = from; at < to; count++) {
      // The tag is one byte: the caller has looked.
      const end = scanner.lengthEnd(at + 1, to);
      const nameFrom = scanner.at + 2;
      const nameLength = bytes[nameFrom - 1];
      const nameEnd = nameFrom + nameLength;
      if (nameEnd >= end || nameLength >= 0x80) return undefined;
      if (bytes[nameFrom - 2] !== NAME_TAG || bytes[nameEnd] !== VALUE_TAG) return undefined;
      if (scanner.lengthEnd(nameEnd + 1, end) !== end) return undefined;
      const value = bytes.subarray(scanner.at, end);
      const column = this.#column(bytes.toString('latin1', nameFrom, nameEnd));
      if (column === undefined || column <= before || !isUtf8(value)) return undefined;
      if (column === METRIC_NAME) metric = value.toString();
      if (value.length > 0) tags.push({ name: column, value });
      before = column;
      at = end;
    }
    if (count > COLUMNS_MAX || metric === '' || !isMetricName(metric)) return undefined;
    return { metric, database: undefined, table: undefined, tags };
  }

  #column(name: string): string | undefined {
    const known = this.#columns.get(name);
    if (known !== undefined || this.#columns.has(name)) return known;
    if (this.#columns.size >= NAMES_MAX) this.#columns.clear();
    const column = ASCII.test(name) ? columnOf(name, this.#rules) : undefined;
    this.#columns.set(name, column);
    return column;
  }
}
