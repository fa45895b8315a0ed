/** The worker thread of remote write: it decompresses bodies and recognises their series (see `decode-worker.ts`). */
import { parentPort } from 'node:worker_threads';

import { uncompressSync } from 'snappy';

import { freeBuffer } from '#shared/bytes/free-buffer';

import { LabelBook } from './label-book.js';
import type { MatchedRows, WorkerReply, WorkerRequest } from './messages.js';

const books = new Map<number, LabelBook>();

parentPort?.on('message', (message: WorkerRequest) => {
  switch (message.kind) {
    case 'add':
      return add(message);
    case 'drop':
      return void books.delete(message.cache);
    case 'match': {
      const rows = match(message.cache, message.bytes);
      const reply: WorkerReply = { id: message.id, rows };
      parentPort?.postMessage(reply, rows === undefined ? [] : [rows.times.buffer]);
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

/** Returns undefined for a body that is not valid: the main thread decodes it again and reports the reason. */
function match(cache: number, bytes: Uint8Array): MatchedRows | undefined {
  const book = books.get(cache);
  if (book === undefined) return undefined;
  try {
    const plain = uncompressSync(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
      copyOutputData: true,
      asBuffer: true,
    });
    if (typeof plain === 'string') return undefined;
    const matched = book.match(plain);
    freeBuffer(plain);
    return matched;
  } catch {
    return undefined;
  }
}
