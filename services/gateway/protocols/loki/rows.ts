import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet, SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { COLUMNS_MAX } from '#shared/schema/names';

import type { TagSeriesCache } from '../common/tag-series.js';
import { parseStreamLabels } from './labels.js';

/** Entries of a request. Bodies of the default size limit have fewer, unless they are made to exceed it. */
const ENTRIES_MAX = 4 * 1024 * 1024;
const SHOWN_CHARACTERS_MAX = 256;

const LINE = 'line';
const METADATA = 'structured_metadata';
const NO_METADATA = Buffer.from('{}');
/** Added to labels that are named like another column. */
const SUFFIX = '_label';

/** Options of the rows of one request. */
export interface LokiRowsOptions {
  readonly table: string;
  readonly timeColumn: string;
  readonly series: TagSeriesCache;
}

/** Takes the entries of one request, in both forms of the body. */
export interface LokiEntries {
  /** Begins a stream with labels as Loki writes them. @throws `invalid_arguments` if they are malformed. */
  beginStream(labels: string): void;
  /** Begins a stream with labels by name. */
  beginStreamOf(labels: ReadonlyMap<string, string>): void;
  /** Adds an entry of the stream whose line is `[from, to)`. @param metadata a JSON object; undefined for none. */
  addBytes(bytes: Buffer, from: number, to: number, time: bigint, metadata: Buffer | undefined): void;
  /** Adds an entry whose line is a text. */
  addText(line: string, time: bigint, metadata: Buffer | undefined): void;
}

/** The rows of one request without a pipeline. */
export class LokiRows implements LokiEntries {
  readonly #options: LokiRowsOptions;
  readonly #builder: TableBuilder;
  readonly #line: FieldBuilder;
  readonly #metadata: FieldBuilder;
  #series: SeriesEntry | undefined = undefined;

  constructor(batches: BatchSet, options: LokiRowsOptions) {
    this.#options = options;
    this.#builder = batches.table(options.table);
    this.#line = this.#builder.field(LINE, 'String');
    this.#metadata = this.#builder.field(METADATA, 'Json');
  }

  beginStream(labels: string): void {
    const { series, table } = this.#options;
    const known = series.find(table, labels);
    if (known !== undefined) {
      this.#series = known;
      return;
    }
    this.#series = this.#seriesOf(labels, checkedLabels(labels));
  }

  beginStreamOf(labels: ReadonlyMap<string, string>): void {
    const { series, table } = this.#options;
    const key = JSON.stringify([...labels]);
    this.#series = series.find(table, key) ?? this.#seriesOf(key, labels);
  }

  addBytes(bytes: Buffer, from: number, to: number, time: bigint, metadata: Buffer = NO_METADATA): void {
    const row = this.#start();
    this.#line.setBytes(row, bytes, from, to);
    this.#metadata.setBytes(row, metadata, 0, metadata.length);
    this.#builder.endRowAt(time);
  }

  addText(line: string, time: bigint, metadata: Buffer = NO_METADATA): void {
    const row = this.#start();
    this.#line.setText(row, line);
    this.#metadata.setBytes(row, metadata, 0, metadata.length);
    this.#builder.endRowAt(time);
  }

  #start(): number {
    const row = this.#builder.rowCount;
    if (this.#series === undefined || row >= ENTRIES_MAX) {
      throw new AlmanacError('invalid_arguments', `request has more than ${ENTRIES_MAX} entries`, { http: 413 });
    }
    this.#builder.startRow(this.#series);
    return row;
  }

  #seriesOf(key: string, labels: ReadonlyMap<string, string>): SeriesEntry {
    const { series, table, timeColumn } = this.#options;
    if (labels.size > COLUMNS_MAX) {
      throw new AlmanacError('invalid_arguments', `stream has more than ${COLUMNS_MAX} labels`);
    }
    const tags = [...labels]
      .filter(([, value]) => value !== '')
      .map(([label, value]) => {
        const isColumn = label === LINE || label === METADATA || label === timeColumn;
        return { name: isColumn ? label + SUFFIX : label, value: Buffer.from(value) };
      });
    return series.add(table, key, tags);
  }
}

/** Parses labels. @throws `invalid_arguments` if they are malformed. */
export function checkedLabels(labels: string): ReadonlyMap<string, string> {
  const parsed = parseStreamLabels(labels);
  if (typeof parsed !== 'string') return parsed;
  throw new AlmanacError('invalid_arguments', `malformed labels: ${parsed}: ${labels.slice(0, SHOWN_CHARACTERS_MAX)}`);
}
