import { AlmanacError } from '#shared/errors/almanac-error';
import type { BatchSet, SeriesEntry } from '#shared/rowbatch/builder';
import { dataType } from '#shared/schema/data-type';

import { parseJson, type JsonValue } from '../common/json.js';
import { RejectedRows } from '../common/rejected-rows.js';
import { RequestRows } from '../common/request-rows.js';
import type { TagSeriesCache } from '../common/tag-series.js';
import type { Decoding } from '../protocol.js';
import { readDataPoint, type DataPoint } from './data-point.js';

const FLOAT64 = dataType('Float64');
/** Rejected points that a reply shows. */
const SHOWN_MAX = 1_000;
/** What a point counts for when a slice of a body is measured. */
const POINT_BYTES = 100;
const TWO_TO_32 = 4_294_967_296;

/** A point that was rejected, as it was sent. */
export interface RejectedPoint {
  readonly datapoint: JsonValue;
  readonly error: string;
}

/** Names of the columns of a metric. */
export interface OpentsdbColumns {
  readonly time: string;
  readonly value: string;
}

/** Decodes one point, or a list of points. */
export class OpentsdbDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  /** The first points that were rejected. */
  readonly shown: RejectedPoint[] = [];
  pointCount = 0;
  readonly #bytes: Buffer;
  readonly #rows: RequestRows;
  readonly #columns: OpentsdbColumns;
  readonly #series: TagSeriesCache;
  #points: readonly JsonValue[] | undefined = undefined;

  constructor(bytes: Buffer, batches: BatchSet, columns: OpentsdbColumns, series: TagSeriesCache) {
    this.#bytes = bytes;
    this.#rows = new RequestRows(batches, undefined);
    this.#columns = columns;
    this.#series = series;
  }

  /** @throws `invalid_arguments` if the body is not JSON, or has no points. */
  decode(budgetBytes: number): boolean {
    this.#points ??= pointsOf(parseJson(this.#bytes, { bytesMax: Infinity }));
    const points = this.#points;
    const { time, value } = this.#columns;
    for (let left = budgetBytes; left > 0 && this.pointCount < points.length; left -= POINT_BYTES) {
      const sent = points[this.pointCount++];
      const point = readDataPoint(sent, [time, value]);
      if (typeof point !== 'string') this.#add(point);
      else this.#reject(sent, point);
    }
    if (this.pointCount < points.length) return false;
    this.#rows.checkSize();
    return true;
  }

  #add({ metric, timeMs, value, tags }: DataPoint): void {
    const builder = this.#rows.builderOf({ name: metric });
    const row = builder.rowCount;
    const field = this.#rows.columnFor(builder, this.#columns.value, FLOAT64);
    builder.startRow(this.#seriesOf(metric, tags));
    field?.setNumber(row, value);
    builder.endRow(timeMs | 0, Math.floor(timeMs / TWO_TO_32));
  }

  #seriesOf(metric: string, tags: DataPoint['tags']): SeriesEntry {
    const key = JSON.stringify(tags);
    const series = this.#series;
    return (
      series.find(metric, key) ??
      series.add(
        metric,
        key,
        tags.map(([name, value]) => ({ name, value: Buffer.from(value) })),
      )
    );
  }

  #reject(datapoint: JsonValue, error: string): void {
    this.rejected.addMalformed(() => error);
    if (this.shown.length < SHOWN_MAX) this.shown.push({ datapoint, error });
  }
}

function pointsOf(body: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(body)) {
    if (typeof body === 'object' && body !== null) return [body];
    throw new AlmanacError(
      'invalid_arguments',
      'Unable to parse the given JSON: no datapoint and no list of datapoints',
    );
  }
  if (body.length === 0) throw new AlmanacError('invalid_arguments', 'No datapoints found in content');
  return body as readonly JsonValue[];
}
