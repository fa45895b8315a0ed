/** The worker thread that converts large JSON bodies (see `json-worker.ts`). */
import { parentPort } from 'node:worker_threads';

import { AlmanacError } from '#shared/errors/almanac-error';

import { protobufOfJson, REQUEST_FORMS } from './json-form.js';

/** Which request a body is. */
export type Signal = keyof typeof REQUEST_FORMS;

/** A body to convert. */
export interface JsonRequest {
  readonly signal: Signal;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The body as protobuf, or why it is not valid. */
export type JsonReply = { readonly bytes: Uint8Array<ArrayBuffer> } | { readonly error: string };

parentPort?.on('message', ({ signal, bytes }: JsonRequest) => {
  let reply: JsonReply;
  try {
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    // A copy, since small buffers share their memory with others.
    reply = { bytes: new Uint8Array(protobufOfJson(body, REQUEST_FORMS[signal]())) };
  } catch (error) {
    reply = { error: AlmanacError.from(error).publicMessage };
  }
  parentPort?.postMessage(reply, 'bytes' in reply ? [reply.bytes.buffer] : []);
});
