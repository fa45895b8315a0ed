import { BYTES, malformedBody, WireReader } from '#shared/protobuf/wire-reader';

import { RejectedRows } from '../common/rejected-rows.js';
import type { Decoding } from '../protocol.js';

const RESOURCES_FIELD = 1;
const SCOPES_FIELD = 2;
const ITEMS_FIELD = 2;

/**
 * Reads a request of any signal: resources with scopes with items, which are metrics, spans or log records.
 *
 * Subclasses get the range of each message. What a resource or scope says of itself may come after its items, so a
 * subclass reads those fields when the message begins.
 */
export abstract class ItemDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  protected readonly reader: WireReader;
  #at = 0;
  #scopeEnd = 0;
  #resourceEnd = 0;
  #partAt = 0;
  #partsEnd = 0;

  /** @param bytes the request as protobuf; must not change until it is decoded. */
  constructor(bytes: Buffer) {
    this.reader = new WireReader(bytes);
  }

  decode(budgetBytes: number): boolean {
    const end = this.reader.bytes.length;
    for (let left = budgetBytes; left > 0;) {
      const before = this.#at + this.#partAt;
      if (this.#partAt < this.#partsEnd) this.#partAt = this.part(this.#partAt, this.#partsEnd);
      else if (this.#at < this.#scopeEnd) this.#decodeItem();
      else if (this.#at < this.#resourceEnd) this.#decodeScope();
      else if (this.#at < end) this.#decodeResource(end);
      else return true;
      left -= Math.max(1, this.#at + this.#partAt - before);
    }
    return false;
  }

  /** Reads the fields of a resource, but for its scopes. */
  protected abstract beginResource(from: number, end: number): void;

  /** Reads the fields of a scope, but for its items. */
  protected abstract beginScope(from: number, end: number): void;

  protected abstract item(from: number, end: number): void;

  /** Has `[from, end)` read by calls of `part` before the next item, so that an item of any size is read in slices. */
  protected readParts(from: number, end: number): void {
    this.#partAt = from;
    this.#partsEnd = end;
  }

  /** Reads the part of an item at `at`. @returns the position after it. */
  protected part(_at: number, end: number): number {
    return end;
  }

  #decodeResource(end: number): void {
    const tag = this.reader.varint(this.#at, end);
    this.#at = this.reader.skip(tag, this.reader.at, end);
    if (tag >>> 3 !== RESOURCES_FIELD) return;
    if ((tag & 7) !== BYTES) throw malformedBody();
    this.#resourceEnd = this.#at;
    this.#at = this.reader.at;
    this.beginResource(this.#at, this.#resourceEnd);
  }

  #decodeScope(): void {
    const tag = this.reader.varint(this.#at, this.#resourceEnd);
    this.#at = this.reader.skip(tag, this.reader.at, this.#resourceEnd);
    if (tag >>> 3 !== SCOPES_FIELD) return;
    if ((tag & 7) !== BYTES) throw malformedBody();
    this.#scopeEnd = this.#at;
    this.#at = this.reader.at;
    this.beginScope(this.#at, this.#scopeEnd);
  }

  #decodeItem(): void {
    const tag = this.reader.varint(this.#at, this.#scopeEnd);
    const next = this.reader.skip(tag, this.reader.at, this.#scopeEnd);
    this.#at = next;
    if (tag >>> 3 !== ITEMS_FIELD) return;
    if ((tag & 7) !== BYTES) throw malformedBody();
    this.item(this.reader.at, next);
  }
}
