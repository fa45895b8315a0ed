/** The worker thread of remote write: it decompresses bodies and recognises their series (see `decode-worker.ts`). */
import { parentPort } from 'node:worker_threads';

import { uncompressSync } from 'snappy';

import { freeBuffer } from '#shared/bytes/free-buffer';

import { LabelBook } from './label-book.js';
import type { WorkerReply, WorkerRequest } from './messages.js';
import { RowArrays } from './row-arrays.js';

/** The memory of a slot: bytes of a body, and arrays for its rows in the same place. */
interface Slot {
  readonly body: Buffer;
  readonly rows: RowArrays;
}

const books = new Map<number, LabelBook>();
const slots = new Map<number, Slot>();

parentPort?.on('message', (message: WorkerRequest) => {
  switch (message.kind) {
    case 'add':
      return add(message);
    case 'drop':
      return void books.delete(message.cache);
    case 'memory':
      return void slots.set(message.slot, { body: Buffer.from(message.memory), rows: new RowArrays(message.memory) });
    case 'free':
      return void slots.delete(message.slot);
    case 'match': {
      const reply: WorkerReply = { id: message.id, rowCount: match(message) };
      parentPort?.postMessage(reply);
    }
  }
});

function add({ cache, first, lengths, labels }: WorkerRequest & { kind: 'add' }): void {
  const book = books.get(cache) ?? new LabelBook();
  books.set(cache, book);
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    book.add(first + i, Buffer.from(labels.buffer, labels.byteOffset + at, length));
    at += length;
  }
}

/** Returns 0 for a body that is not valid: the main thread decodes it again and reports the reason. */
function match({ cache, slot, length }: WorkerRequest & { kind: 'match' }): number {
  const book = books.get(cache);
  const memory = slots.get(slot);
  if (book === undefined || memory === undefined) return 0;
  try {
    const plain = uncompressSync(memory.body.subarray(0, length), { copyOutputData: true, asBuffer: true });
    if (typeof plain === 'string') return 0;
    const rowCount = book.match(plain, memory.rows);
    freeBuffer(plain);
    return rowCount;
  } catch {
    return 0;
  }
}
