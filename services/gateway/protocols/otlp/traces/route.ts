import type { Config } from '#shared/config/schema';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../../../request-context.js';
import { appendWriteOptions } from '../../common/append-write.js';
import type { DatabaseCaches } from '../../common/cache-memory.js';
import { ENCODINGS } from '../../common/encodings.js';
import { RequestRows } from '../../common/request-rows.js';
import type { RejectedRows } from '../../common/rejected-rows.js';
import type { TagSeriesCache } from '../../common/tag-series.js';
import {
  ingestRoute,
  type AdditionalWrite,
  type DecodeInput,
  type Decoding,
  type IngestOptions,
  type IngestRoute,
} from '../../protocol.js';
import { checkContentType, isJsonRequest } from '../body-form.js';
import { OTLP_TRACES_DOC } from '../doc.js';
import type { JsonWorker } from '../json-worker.js';
import { otlpReplies } from '../replies.js';
import { SPAN_TABLE_COLUMNS } from './columns.js';
import { TraceDecoder, type TraceModel } from './decode.js';
import { ServiceRows } from './service-rows.js';

const DEFAULT_TABLE = 'opentelemetry_traces';
const TIME_COLUMN = 'timestamp';
/** A type of a column changes at most four times. */
const ATTEMPTS_MAX = 6;
const MODELS: Readonly<Record<string, TraceModel>> = {
  almanac_trace_v0: 'v0',
  greptime_trace_v0: 'v0',
  almanac_trace_v1: 'v1',
  greptime_trace_v1: 'v1',
};

interface TraceOptions extends IngestOptions {
  readonly isJson: boolean;
  readonly table: string;
  readonly model: TraceModel;
}

/** Opens `POST /v1/traces`. */
export function tracesRoute(config: Config, series: DatabaseCaches<TagSeriesCache>, json: JsonWorker): IngestRoute {
  const options = (context: RequestContext): TraceOptions => {
    checkContentType(context);
    const model = modelOf(context);
    const write = appendWriteOptions(context, config, TIME_COLUMN);
    const dataModel = model === 'v1' ? { table_data_model: `${config.naming}_trace_v1` } : {};
    return {
      write: {
        ...write,
        columns: SPAN_TABLE_COLUMNS,
        widensIntegers: true,
        tableOptions: { ...write.tableOptions, ...dataModel },
      },
      isJson: isJsonRequest(context),
      table: context.productHeader('trace-table-name') ?? DEFAULT_TABLE,
      model,
    };
  };
  const decode = (input: DecodeInput, request: TraceOptions): Decoding => {
    return new TraceDecoding(input, request, series.of(request.write.database));
  };
  return ingestRoute({
    path: '/v1/traces',
    encodings: ENCODINGS,
    partialSuccess: true,
    needsTables: true,
    options,
    convert: (bytes, { isJson }) => (isJson ? json.convert(bytes, 'traces') : bytes),
    decode,
    replies: otlpReplies('rejectedSpans'),
    doc: OTLP_TRACES_DOC,
  });
}

/** Decodes a request, from scratch each time that a value shows that a column must have another type. */
class TraceDecoding implements Decoding {
  readonly #input: DecodeInput;
  readonly #request: TraceOptions;
  readonly #series: TagSeriesCache;
  readonly #types = new Map<string, string>();
  #decoder: TraceDecoder;
  #rows: RequestRows;
  #services: ServiceRows;
  #attempts = 1;

  constructor(input: DecodeInput, request: TraceOptions, series: TagSeriesCache) {
    this.#input = input;
    this.#request = request;
    this.#series = series;
    [this.#decoder, this.#rows, this.#services] = this.#start();
  }

  get rejected(): RejectedRows {
    return this.#decoder.rejected;
  }

  decode(budgetBytes: number): boolean {
    if (!this.#decoder.decode(budgetBytes)) return false;
    if (!this.#decoder.columns.isRepeatNeeded || this.#attempts === ATTEMPTS_MAX) {
      this.#rows.checkSize();
      return true;
    }
    this.#attempts++;
    this.#input.batches.release();
    [this.#decoder, this.#rows, this.#services] = this.#start();
    return false;
  }

  additionalWrites(): readonly AdditionalWrite[] {
    const { table, write } = this.#request;
    return this.#services.additionalWrites(table, write);
  }

  #start(): [TraceDecoder, RequestRows, ServiceRows] {
    const { bytes, batches, tables } = this.#input;
    const { table, model } = this.#request;
    const rows = new RequestRows(batches, undefined);
    const services = new ServiceRows();
    const existing = tables.find(({ name }) => name === table);
    const options = { table, model, existing, series: this.#series, types: this.#types };
    return [new TraceDecoder(bytes, batches, rows, services, options), rows, services];
  }
}

function modelOf(context: RequestContext): TraceModel {
  const named = context.productHeader('pipeline-name') ?? context.productHeader('log-pipeline-name') ?? '';
  if (named.trim() === '') return 'v1';
  const model = Object.hasOwn(MODELS, named.trim()) ? MODELS[named.trim()] : undefined;
  if (model !== undefined) return model;
  const allowed = Object.keys(MODELS).join(', ');
  throw new AlmanacError('unsupported', `Unsupported pipeline for trace: "${named}": use one of ${allowed}`);
}
