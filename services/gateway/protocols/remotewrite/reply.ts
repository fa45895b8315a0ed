import type { AlmanacError } from '#shared/errors/almanac-error';

import { errorHeaders, type Answer } from '../../answer.js';
import type { FurtherOutcome, IngestOutcome, IngestReply } from '../protocol.js';

/** Senders log the first 1,024 bytes. */
const BODY_CHARACTERS_MAX = 8 * 1024;

/** What a decoder knows of a request when it is written. */
export interface DecodedCounts {
  readonly sampleCount: number;
  readonly histogramCount: number;
  /** Called when the rows of metadata are kept. */
  readonly metadataKept: () => void;
}

interface Written {
  readonly samples: number;
  readonly histograms: number;
  readonly exemplars: number;
}

const NOTHING: Written = { samples: 0, histograms: 0, exemplars: 0 };

/** The answer to one request: every one tells how much was written. */
export class RemoteWriteReply implements IngestReply {
  /** Set once the body is decoded. */
  decoded: (() => DecodedCounts) | undefined = undefined;

  success(outcome: IngestOutcome): Answer {
    const { rejected, written, further } = outcome;
    const counts = this.decoded?.();
    const metadata = further.filter(({ kind }) => kind === 'metadata');
    if (metadata.every(({ failure }) => failure === undefined)) counts?.metadataKept();
    const texts = [...rejected.texts];
    for (const { conflicts, refused } of [written, ...further.flatMap((it) => it.written ?? [])]) {
      for (const { column, given, existing, rowCount } of conflicts) {
        texts.push(`${rowCount} samples: column "${column}" has type ${existing}, not ${given}`);
      }
      for (const { reason, rowCount } of refused) texts.push(`${rowCount} samples: ${reason}`);
    }
    for (const { kind, failure } of further) {
      if (kind !== 'metadata' && failure !== undefined) texts.push(failure.publicMessage);
    }
    const headers = writtenHeaders(counts === undefined ? NOTHING : writtenOf(outcome, counts));
    return texts.length === 0 ? { status: 204, headers } : errorAnswer(400, texts.join('\n'), headers);
  }

  rejected(): Answer {
    return errorAnswer(400, 'nothing was written', writtenHeaders(NOTHING));
  }

  failure(error: AlmanacError): Answer {
    const headers = { ...errorHeaders(error), ...writtenHeaders(NOTHING) };
    const status = statusOf(error);
    const retry = status === 503 ? { 'retry-after': String(error.retryAfterSeconds ?? 1) } : {};
    return errorAnswer(status, error.publicMessage, { ...headers, ...retry }, error.number);
  }
}

/** Senders drop what gets a 4xx for good. */
function statusOf({ httpStatus, retry }: AlmanacError): number {
  return retry && httpStatus < 500 ? 503 : httpStatus;
}

/** Rows that the tables did not take count as samples first: the writer does not tell them apart. */
function writtenOf({ written, further }: IngestOutcome, counts: DecodedCounts): Written {
  const lost = leftOut(written) + lostOf(further, 'rows');
  const samples = Math.max(0, counts.sampleCount - lost);
  const histograms = Math.max(0, counts.histogramCount - Math.max(0, lost - counts.sampleCount));
  const exemplars = further.reduce((sum, it) => sum + (it.kind === 'exemplars' ? (it.written?.rowCount ?? 0) : 0), 0);
  return { samples, histograms, exemplars };
}

function lostOf(further: readonly FurtherOutcome[], kind: FurtherOutcome['kind']): number {
  return further.reduce((sum, it) => sum + (it.kind === kind ? it.rowCount - (it.written?.rowCount ?? 0) : 0), 0);
}

function leftOut({ conflicts, refused }: IngestOutcome['written']): number {
  return [...conflicts, ...refused].reduce((sum, { rowCount }) => sum + rowCount, 0);
}

function writtenHeaders({ samples, histograms, exemplars }: Written): Record<string, string> {
  return {
    'x-prometheus-remote-write-samples-written': String(samples),
    'x-prometheus-remote-write-histograms-written': String(histograms),
    'x-prometheus-remote-write-exemplars-written': String(exemplars),
  };
}

function errorAnswer(status: number, message: string, headers: Readonly<Record<string, string>>, code = 1004): Answer {
  const error = message.length <= BODY_CHARACTERS_MAX ? message : `${message.slice(0, BODY_CHARACTERS_MAX)}..`;
  const body = JSON.stringify({ error, code });
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}
