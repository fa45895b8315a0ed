import { CLOSE_BRACE, COLON, OPEN_BRACE } from '#shared/bytes/ascii';
import { isUtf8Range } from '#shared/bytes/utf8';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BYTES, malformedBody, WireReader } from '#shared/protobuf/wire-reader';

import { JsonWriter, notUtf8 } from '../common/json-writer.js';
import { RejectedRows } from '../common/rejected-rows.js';
import type { Decoding } from '../protocol.js';
import type { LokiEntries } from './rows.js';

const STREAMS_TAG = 0x0a;
const LABELS_TAG = 0x0a;
const ENTRIES_TAG = 0x12;
const TIME_TAG = 0x0a;
const LINE_TAG = 0x12;
const METADATA_TAG = 0x1a;
const SECONDS_TAG = 0x08;
const NANOS_TAG = 0x10;

const SECOND_NS = 1_000_000_000n;
const TIME_MAX = 2n ** 63n - 1n;

const COMMA = 0x2c;

/** Decodes a `PushRequest` of Loki. */
export class LokiProtobufDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly #reader: WireReader;
  readonly #rows: LokiEntries;
  readonly #json = new JsonWriter();
  #at = 0;
  #streamEnd = 0;
  #seconds = Number.NaN;
  #secondsNs = 0n;

  constructor(bytes: Buffer, rows: LokiEntries) {
    this.#reader = new WireReader(bytes);
    this.#rows = rows;
  }

  /** @throws `invalid_arguments` if the body is malformed. */
  decode(budgetBytes: number): boolean {
    const end = this.#reader.bytes.length;
    const stop = this.#at + budgetBytes;
    while (this.#at < stop && this.#at < end) {
      if (this.#at < this.#streamEnd) this.#streamField();
      else this.#requestField(end);
    }
    return this.#at === end;
  }

  #requestField(end: number): void {
    const reader = this.#reader;
    const tag = reader.varint(this.#at, end);
    const next = reader.skip(tag, reader.at, end);
    this.#at = next;
    if (tag === STREAMS_TAG) this.#beginStream(reader.at, next);
    else if (tag >>> 3 === 1) throw malformedBody();
  }

  #streamField(): void {
    const reader = this.#reader;
    const tag = reader.varint(this.#at, this.#streamEnd);
    this.#at = reader.skip(tag, reader.at, this.#streamEnd);
    if (tag === ENTRIES_TAG) this.#entry(reader.at, this.#at);
    else if (tag >>> 3 === 2) throw malformedBody();
  }

  /** Labels may come after the entries. */
  #beginStream(from: number, end: number): void {
    const reader = this.#reader;
    let labels = '{}';
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      if (tag === LABELS_TAG) labels = this.#text(reader.at, at);
      else if (tag >>> 3 === 1) throw malformedBody();
    }
    this.#rows.beginStream(labels);
    this.#at = from;
    this.#streamEnd = end;
  }

  #entry(from: number, end: number): void {
    const reader = this.#reader;
    const { bytes } = reader;
    let [timeFrom, timeTo, lineFrom, lineTo] = [from, from, from, from];
    let hasMetadata = false;
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      if (tag === TIME_TAG) [timeFrom, timeTo] = [reader.at, at];
      else if (tag === LINE_TAG) [lineFrom, lineTo] = [reader.at, at];
      else if (tag === METADATA_TAG) hasMetadata = true;
      else if (tag >>> 3 <= 3) throw malformedBody();
    }
    if (!isUtf8Range(bytes, lineFrom, lineTo)) throw notUtf8();
    const time = this.#time(timeFrom, timeTo);
    if (hasMetadata) this.#writeMetadata(from, end);
    const json = hasMetadata ? this.#json.bytes.subarray(0, this.#json.length) : undefined;
    this.#rows.addBytes(bytes, lineFrom, lineTo, time, json);
  }

  #time(from: number, end: number): bigint {
    const reader = this.#reader;
    let [seconds, nanos] = [0, 0];
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      if (tag === SECONDS_TAG) seconds = reader.signed;
      else if (tag === NANOS_TAG) nanos = reader.low;
      else if (tag >>> 3 <= 2) throw malformedBody();
    }
    if (seconds !== this.#seconds) {
      this.#seconds = seconds;
      this.#secondsNs = BigInt(seconds) * SECOND_NS;
    }
    const time = this.#secondsNs + BigInt(nanos);
    if (time > TIME_MAX || time < -TIME_MAX) throw new AlmanacError('invalid_arguments', 'timestamp is out of range');
    return time;
  }

  /** Writes the metadata of the entry in `[from, end)` as a JSON object; of several with the same name the last counts. */
  #writeMetadata(from: number, end: number): void {
    const reader = this.#reader;
    const pairs = new Map<string, readonly [number, number, number, number]>();
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      if (tag === METADATA_TAG) this.#addPair(pairs, reader.at, at);
    }
    const json = this.#json;
    json.clear();
    json.byte(OPEN_BRACE);
    for (const [nameFrom, nameTo, valueFrom, valueTo] of pairs.values()) {
      if (json.length > 1) json.byte(COMMA);
      json.string(reader.bytes, nameFrom, nameTo);
      json.byte(COLON);
      json.string(reader.bytes, valueFrom, valueTo);
    }
    json.byte(CLOSE_BRACE);
  }

  #addPair(pairs: Map<string, readonly [number, number, number, number]>, from: number, end: number): void {
    const reader = this.#reader;
    let [nameFrom, nameTo, valueFrom, valueTo] = [from, from, from, from];
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      const field = tag >>> 3;
      if (field > 2) continue;
      if ((tag & 7) !== BYTES) throw malformedBody();
      if (field === 1) [nameFrom, nameTo] = [reader.at, at];
      else [valueFrom, valueTo] = [reader.at, at];
    }
    pairs.set(reader.bytes.toString('latin1', nameFrom, nameTo), [nameFrom, nameTo, valueFrom, valueTo]);
  }

  #text(from: number, to: number): string {
    const { bytes } = this.#reader;
    if (!isUtf8Range(bytes, from, to)) throw notUtf8();
    return bytes.toString('utf8', from, to);
  }
}
