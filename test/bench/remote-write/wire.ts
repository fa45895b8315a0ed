import { invariant } from '#shared/errors/invariant';

const SERIES_TAG = 0x0a;
const LABEL_TAG = 0x0a;
const NAME_TAG = 0x0a;
const VALUE_TAG = 0x12;
const SAMPLE_TAG = 0x12;
const SAMPLE_VALUE_TAG = 0x09;
const SAMPLE_TIME_TAG = 0x10;
/** Of a sample, its lengths and that of its series. */
export const SAMPLE_BYTES_MAX = 21;
/** Of a series with one sample. */
export const SERIES_BYTES_MAX = 512;

export interface OneSample {
  /** As fields of the message, see {@link labelField}. */
  readonly labels: Buffer;
  readonly value: number;
}

/** @throws if it is too long for lengths of one byte. */
export function labelField(name: string, value: string): Buffer {
  const parts = [NAME_TAG, name.length, ...Buffer.from(name), VALUE_TAG, value.length, ...Buffer.from(value)];
  invariant(parts.length < 0x80, 'label is too long for a length of one byte');
  return Buffer.from([LABEL_TAG, parts.length, ...parts]);
}

/** Writes a series with one sample and returns where it ends; as other senders do, a value of 0 is left out. */
export function writeSeries(target: Buffer, from: number, { labels, value }: OneSample, timeMs: number): number {
  const sampleLength = (value === 0 ? 0 : 9) + 7;
  let at = from;
  target[at++] = SERIES_TAG;
  at = writeLength(target, at, labels.length + 2 + sampleLength);
  at += labels.copy(target, at);
  target[at++] = SAMPLE_TAG;
  target[at++] = sampleLength;
  if (value !== 0) {
    target[at++] = SAMPLE_VALUE_TAG;
    at = target.writeDoubleLE(value, at);
  }
  target[at++] = SAMPLE_TIME_TAG;
  return writeLength(target, at, timeMs);
}

function writeLength(target: Buffer, from: number, length: number): number {
  let at = from;
  let rest = length;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) target[at++] = (rest % 0x80) | 0x80;
  target[at++] = rest;
  return at;
}
