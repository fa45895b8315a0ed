/**
 * Cuts an Arrow IPC stream into its messages as it arrives
 * (https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format):
 *
 *   0xFFFFFFFF | length of the metadata, int32 | metadata, padded to 8 bytes | body, padded to 8 bytes
 *
 * The metadata are a FlatBuffer that has the length of the body. A message without metadata ends the stream.
 */
import { checkedBodyBytes, unreadable, type MessageKind } from './arrow-metadata.js';

/** Bytes of the marker and of the length of the metadata. */
const PREFIX_BYTES = 8;
/** Metadata of about 50,000 columns. */
const METADATA_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Returns the messages of a stream: a schema, then record batches. An empty stream has none. The body of a message is aligned,
 * and no other message shares its memory.
 *
 * @throws the error of `unreadable`; what `parts` throws.
 */
export async function* arrowMessages(
  parts: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const source = new ByteSource(parts);
  try {
    for (let kind: MessageKind = 'schema'; ; kind = 'rows') {
      const prefix = new Uint8Array(PREFIX_BYTES);
      const filled = await source.fill(prefix);
      if (filled === 0 && kind === 'schema') return;
      if (filled < PREFIX_BYTES) throw unreadable('its end is missing');
      const metadataBytes = metadataBytesOf(prefix);
      if (metadataBytes === 0) break;
      const metadata = new Uint8Array(metadataBytes);
      await source.fillAll(metadata);
      const message = new Uint8Array(PREFIX_BYTES + metadataBytes + checkedBodyBytes(metadata, kind));
      message.set(prefix);
      message.set(metadata, PREFIX_BYTES);
      await source.fillAll(message.subarray(PREFIX_BYTES + metadataBytes));
      yield message;
    }
    // A request whose reply is not read to its end is shown as cancelled.
    if ((await source.fill(new Uint8Array(1))) > 0) throw unreadable('bytes follow its end');
  } finally {
    await source.close();
  }
}

function metadataBytesOf(prefix: Uint8Array<ArrayBuffer>): number {
  const view = new DataView(prefix.buffer);
  if (view.getInt32(0, true) !== -1) throw unreadable('it is not an Arrow stream');
  const bytes = view.getInt32(4, true);
  if (bytes < 0 || bytes > METADATA_BYTES_MAX) throw unreadable('the metadata of a message are too large');
  return bytes;
}

/** The bytes of parts in their order. Each is copied once, however many parts an array takes. */
class ByteSource {
  readonly #parts: AsyncIterator<Uint8Array>;
  #part = new Uint8Array(0) as Uint8Array;

  constructor(parts: AsyncIterable<Uint8Array>) {
    this.#parts = parts[Symbol.asyncIterator]();
  }

  /** Fills an array. @returns the number of bytes written, which is lower than its length at the end of the parts. */
  async fill(target: Uint8Array): Promise<number> {
    let filled = 0;
    while (filled < target.length) {
      if (this.#part.length === 0) {
        const next = await this.#parts.next();
        if (next.done === true) break;
        this.#part = next.value;
      }
      const taken = this.#part.subarray(0, target.length - filled);
      target.set(taken, filled);
      filled += taken.length;
      this.#part = this.#part.subarray(taken.length);
    }
    return filled;
  }

  /** Fills an array. @throws the error of `unreadable` at the end of the parts. */
  async fillAll(target: Uint8Array): Promise<void> {
    if ((await this.fill(target)) < target.length) throw unreadable('its end is missing');
  }

  async close(): Promise<void> {
    await this.#parts.return?.();
  }
}
