/** The helper thread of remote write: it decompresses bodies and recognises their series (`helper.ts` is its other end). */
import { parentPort } from 'node:worker_threads';

import { uncompressSync } from 'snappy';

import { freeBuffer } from '#shared/bytes/free-buffer';

import { LabelBook, type MatchedRows } from './label-book.js';
import type { FromHelper, ToHelper } from './messages.js';

const books = new Map<number, LabelBook>();

parentPort?.on('message', (message: ToHelper) => {
  switch (message.kind) {
    case 'learn':
      return learn(message);
    case 'forget':
      return void books.delete(message.cache);
    case 'body': {
      const matched = match(message.cache, message.packed);
      const answer: FromHelper = { id: message.id, rowCount: matched?.rowCount ?? 0, words: matched?.words };
      parentPort?.postMessage(answer, matched === undefined ? [] : [matched.words.buffer]);
    }
  }
});

function learn({ cache, first, lengths, labels }: ToHelper & { kind: 'learn' }): void {
  const book = books.get(cache) ?? new LabelBook();
  books.set(cache, book);
  let at = 0;
  for (const [i, length] of lengths.entries()) {
    book.add(first + i, Buffer.from(labels.buffer, labels.byteOffset + at, length));
    at += length;
  }
}

/** Whatever is wrong with a body is found again, and told, where all other bodies are decoded. */
function match(cache: number, packed: Uint8Array): MatchedRows | undefined {
  const book = books.get(cache);
  if (book === undefined) return undefined;
  try {
    const plain = uncompressSync(Buffer.from(packed.buffer, packed.byteOffset, packed.length), {
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
