import { databaseOfWrite } from '#services/gateway/protocols/common/database';
import { isJsonObject, parseJson, type JsonValue } from '#services/gateway/protocols/common/json';
import { RejectedRows } from '#services/gateway/protocols/common/rejected-rows';
import {
  ingestRoute,
  type DecodeInput,
  type Decoding,
  type IngestReplies,
  type ProtocolRoutes,
} from '#services/gateway/protocols/protocol';
import { errorHeaders, jsonReply } from '#services/gateway/reply';
import { AlmanacError } from '#shared/errors/almanac-error';
import { SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId } from '#shared/rowbatch/series-key';

const TIME_TYPE = 'TimestampNanosecond';

const replies: IngestReplies = {
  success({ rejected, written }) {
    const reasons = [...rejected.conflicts, ...written.rejected].map(({ reason }) => reason);
    const errors = [...rejected.texts, ...reasons];
    return jsonReply(errors.length === 0 ? 200 : 400, { written: written.rowCount, errors });
  },
  rejected: ({ texts }) => jsonReply(400, { written: 0, errors: texts }),
  failure: (error) => jsonReply(error.httpStatus, { error: error.publicMessage }, errorHeaders(error)),
};

/** Opens `POST /v1/points`: `[{"table": "t", "tags": {"host": "a"}, "value": 1, "time": 1700000000000000001}]`. */
export function jsonPointsRoutes(pointsMax: number): ProtocolRoutes {
  return {
    prefixes: ['/v1'],
    routes: [
      ingestRoute({
        path: '/points',
        encodings: ['gzip'],
        partialSuccess: true,
        options: (context) => ({
          write: {
            database: databaseOfWrite(context, ['db']),
            create: true,
            timeIndex: { name: 'time', type: TIME_TYPE },
            tableOptions: {},
            timeType: TIME_TYPE,
          },
        }),
        decode: (input) => new PointsDecoding(input, pointsMax),
        replies,
        doc: {
          group: { name: 'Points', description: 'Points as JSON.', page: 'http-api.md', errors: undefined },
          summary: 'Writes points',
          replies: { 200: { description: 'The points are stored.' } },
        },
      }),
    ],
  };
}

class PointsDecoding implements Decoding {
  readonly rejected = new RejectedRows();
  readonly #input: DecodeInput;
  readonly #pointsMax: number;

  constructor(input: DecodeInput, pointsMax: number) {
    this.#input = input;
    this.#pointsMax = pointsMax;
  }

  decode(): boolean {
    const points = parseJson(this.#input.bytes);
    if (!Array.isArray(points) || points.length > this.#pointsMax) {
      throw new AlmanacError('invalid_arguments', `body must be a list of at most ${this.#pointsMax} points`);
    }
    for (const point of points as readonly JsonValue[]) {
      const reason = this.#add(point);
      if (reason !== '') this.rejected.addMalformed(() => `${reason}: ${JSON.stringify(point)}`);
    }
    return true;
  }

  #add(point: JsonValue): string {
    if (!isJsonObject(point)) return 'not an object';
    const { table, tags = {}, value, time } = point;
    if (typeof table !== 'string' || !isJsonObject(tags)) return 'table or tags missing';
    if (typeof value !== 'number' && typeof value !== 'bigint') return 'value missing';
    if (typeof time !== 'bigint' && typeof time !== 'number') return 'time missing';
    const list = Object.entries(tags).map(([name, text]) => ({ name, value: Buffer.from(JSON.stringify(text)) }));
    const builder = this.#input.batches.table(table);
    const row = builder.rowCount;
    const type = typeof value === 'bigint' || Number.isInteger(value) ? 'Int64' : 'Float64';
    builder.startRow(new SeriesEntry(table, seriesId(list), list));
    const field = builder.field('value', type);
    if (field.type.name !== type) {
      builder.undoRow();
      this.rejected.addConflict(table, { column: 'value', given: type, existing: field.type.name });
      return '';
    }
    if (type === 'Int64') field.setBigInt(row, BigInt(value));
    else field.setNumber(row, Number(value));
    builder.endRowAt(BigInt(time));
    return '';
  }
}
