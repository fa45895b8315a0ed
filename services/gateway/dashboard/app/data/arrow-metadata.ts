/**
 * Checks the metadata of Arrow messages, which are FlatBuffers (https://flatbuffers.dev/internals/). The library makes as many
 * items as a vector claims to have, so that a false length would stop the page.
 */

/** What a message has. */
export type MessageKind = 'schema' | 'rows';

const MESSAGE_BYTES_MAX = 512 * 1024 * 1024;

/** Numbers of fields in Message.fbs and Schema.fbs. */
const MESSAGE = { headerType: 1, header: 2, bodyLength: 3 };
const SCHEMA = { fields: 1, metadata: 2 };
const FIELD = { name: 0, typeId: 2, type: 3, children: 5, metadata: 6 };
const TIMESTAMP = { zone: 1 };
const RECORD_BATCH = { nodes: 1, buffers: 2, variadicCounts: 4 };
/** Values of the field `headerType`. */
const HEADERS: Readonly<Record<MessageKind, number>> = { schema: 1, rows: 3 };
const TIMESTAMP_ID = 10;
const UNION_ID = 14;

/** Returns the error of a result that no server of this release sends. @param reason a clause. */
export function unreadable(reason: string): Error {
  return new Error(`The result cannot be read: ${reason}.`);
}

/** Checks the metadata of a message. @returns the length of its body in bytes. @throws the error of `unreadable`. */
export function checkedBodyBytes(bytes: Uint8Array<ArrayBuffer>, kind: MessageKind): number {
  try {
    const metadata = new Metadata(bytes);
    const message = metadata.follow(0);
    const headerType = metadata.field(message, MESSAGE.headerType);
    if (headerType === MISSING || bytes[headerType] !== HEADERS[kind]) throw unreadable('a message is of another kind');
    const headerField = metadata.field(message, MESSAGE.header);
    // The library would take what follows for the next message, unchecked.
    if (headerField === MISSING) throw unreadable('a message has no content');
    const header = metadata.follow(headerField);
    if (kind === 'schema') checkSchema(metadata, header);
    else for (const vector of Object.values(RECORD_BATCH)) metadata.items(metadata.field(header, vector));
    const length = metadata.field(message, MESSAGE.bodyLength);
    const bodyBytes = length === MISSING ? 0 : Number(metadata.view.getBigInt64(length, true));
    if (bodyBytes < 0 || bodyBytes > MESSAGE_BYTES_MAX) throw unreadable('a message is too large');
    return bodyBytes;
  } catch (error) {
    // A `DataView` throws it for offsets out of bounds.
    throw error instanceof RangeError ? unreadable('the metadata of a message are damaged') : error;
  }
}

function checkSchema(metadata: Metadata, schema: number): void {
  checkPairs(metadata, metadata.field(schema, SCHEMA.metadata));
  for (const field of metadata.items(metadata.field(schema, SCHEMA.fields))) {
    metadata.text(metadata.field(field, FIELD.name));
    checkPairs(metadata, metadata.field(field, FIELD.metadata));
    const typeId = metadata.field(field, FIELD.typeId);
    const id = typeId === MISSING ? 0 : metadata.view.getUint8(typeId);
    const isNested = id === UNION_ID || metadata.items(metadata.field(field, FIELD.children)).length > 0;
    if (isNested) throw unreadable('a column is of a nested type');
    if (id === TIMESTAMP_ID) {
      const type = metadata.field(field, FIELD.type);
      if (type !== MISSING) metadata.text(metadata.field(metadata.follow(type), TIMESTAMP.zone));
    }
  }
}

function checkPairs(metadata: Metadata, vector: number): void {
  for (const pair of metadata.items(vector)) {
    metadata.text(metadata.field(pair, 0));
    metadata.text(metadata.field(pair, 1));
  }
}

/** Offset of a field that a table does not have. */
const MISSING = -1;

/** A FlatBuffer. */
class Metadata {
  readonly view: DataView;
  /** Bytes that items and texts may still have. Without aliases they have no more than the buffer. */
  #left: number;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#left = bytes.length;
  }

  /** Returns the offset that an offset points to. */
  follow(at: number): number {
    return at + this.view.getInt32(at, true);
  }

  /** Returns the offset of a field of a table, or `MISSING`. */
  field(table: number, number: number): number {
    const vtable = table - this.view.getInt32(table, true);
    const slot = 4 + 2 * number;
    if (slot >= this.view.getInt16(vtable, true)) return MISSING;
    const distance = this.view.getInt16(vtable + slot, true);
    if (distance === 0) return MISSING;
    if (table + distance < 0) throw unreadable('the metadata of a message are damaged');
    return table + distance;
  }

  /** Returns the offsets of the tables of a vector, if it has tables. */
  items(at: number): readonly number[] {
    if (at === MISSING) return [];
    const vector = this.follow(at);
    const count = this.view.getInt32(vector, true);
    this.#spend(4 * count);
    return Array.from({ length: count }, (_, i) => this.follow(vector + 4 + 4 * i));
  }

  text(at: number): void {
    if (at !== MISSING) this.#spend(this.view.getInt32(this.follow(at), true));
  }

  #spend(bytes: number): void {
    this.#left -= bytes;
    if (bytes < 0 || this.#left < 0) throw unreadable('the metadata of a message are damaged');
  }
}
