import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, type HttpReply } from '../../reply.js';
import type { MetricRows } from '../common/metric-rows.js';
import type { AdditionalOutcome, IngestOutcome, IngestReplies } from '../protocol.js';

/** Senders log the first 1,024 bytes. */
const BODY_CHARACTERS_MAX = 8 * 1024;

/** A decoded request. */
export interface DecodedRequest {
  readonly rows: Pick<MetricRows, 'sampleCount' | 'histogramCount'>;
  /** Called when the metadata is stored. */
  readonly metadataKept: () => void;
}

interface WrittenCounts {
  readonly samples: number;
  readonly histograms: number;
  readonly exemplars: number;
}

const NOTHING: WrittenCounts = { samples: 0, histograms: 0, exemplars: 0 };

/** The replies to one request: each has headers with the number of samples that were written. */
export class RemoteWriteReplies implements IngestReplies {
  /** Set once the body is decoded. */
  decoded: DecodedRequest | undefined = undefined;

  success(outcome: IngestOutcome): HttpReply {
    const { rejected, written, additional } = outcome;
    const { decoded } = this;
    const metadata = additional.filter(({ kind }) => kind === 'metadata');
    if (metadata.every(({ failure }) => failure === undefined)) decoded?.metadataKept();
    const texts = [...rejected.texts];
    for (const result of [written, ...additional.flatMap((it) => it.written ?? [])]) {
      for (const { reason, rowCount } of result.rejected) texts.push(`${rowCount} samples: ${reason}`);
    }
    for (const { isOptional, failure } of additional) {
      if (!isOptional && failure !== undefined) texts.push(failure.publicMessage);
    }
    const headers = writtenHeaders(decoded === undefined ? NOTHING : countsOf(outcome, decoded));
    return texts.length === 0 ? { status: 204, headers } : errorReply(400, texts.join('\n'), headers);
  }

  rejected(): HttpReply {
    return errorReply(400, 'nothing was written', writtenHeaders(NOTHING));
  }

  failure(error: AlmanacError): HttpReply {
    const status = statusOf(error);
    const headers = { ...errorHeaders(error, status), ...writtenHeaders(NOTHING) };
    return errorReply(status, error.publicMessage, headers, error.number);
  }
}

/** Returns the status of an error: senders drop rows for good after a 4xx, so those that may heal get 503. */
function statusOf({ httpStatus, retry }: AlmanacError): number {
  return retry && httpStatus < 500 ? 503 : httpStatus;
}

/** Counts what was written. Rejected rows count as samples first, since the writer does not know which are histograms. */
function countsOf({ written, additional }: IngestOutcome, { rows }: DecodedRequest): WrittenCounts {
  const lost = rejectedCount(written) + lostCount(additional, 'rows');
  const samples = Math.max(0, rows.sampleCount - lost);
  const histograms = Math.max(0, rows.histogramCount - Math.max(0, lost - rows.sampleCount));
  const exemplars = additional
    .filter(({ kind }) => kind === 'exemplars')
    .reduce((sum, it) => sum + (it.written?.rowCount ?? 0), 0);
  return { samples, histograms, exemplars };
}

function lostCount(additional: readonly AdditionalOutcome[], kind: string): number {
  return additional
    .filter((it) => it.kind === kind)
    .reduce((sum, it) => sum + it.rowCount - (it.written?.rowCount ?? 0), 0);
}

function rejectedCount({ rejected }: IngestOutcome['written']): number {
  return rejected.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

function writtenHeaders({ samples, histograms, exemplars }: WrittenCounts): Record<string, string> {
  return {
    'x-prometheus-remote-write-samples-written': String(samples),
    'x-prometheus-remote-write-histograms-written': String(histograms),
    'x-prometheus-remote-write-exemplars-written': String(exemplars),
  };
}

function errorReply(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>>,
  code = 1004,
): HttpReply {
  const error = message.length <= BODY_CHARACTERS_MAX ? message : `${message.slice(0, BODY_CHARACTERS_MAX)}..`;
  const body = JSON.stringify({ error, code });
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}
