import { Worker } from 'node:worker_threads';

import { AlmanacError } from '#shared/errors/almanac-error';

import { protobufOfJson, REQUEST_FORMS } from './json-form.js';
import type { JsonReply, JsonRequest, Signal } from './json-thread.js';

/** Smaller bodies are converted here: it takes less time than to send them to the thread. */
const BODY_BYTES_MIN = 256 * 1024;

/** Converts JSON bodies to protobuf, large ones in a worker thread: a body of 64 MiB would block all requests for a second. */
export class JsonWorker {
  #worker: Worker | undefined = undefined;
  #reply: ((reply: JsonReply | undefined) => void) | undefined = undefined;
  /** Ends with the last body: one at a time is in the thread, so that few copies of bodies are in memory. */
  #last: Promise<unknown> = Promise.resolve();

  /** @throws `invalid_arguments` if the body is not valid; later, in the result, if it is large. */
  convert(bytes: Buffer, signal: Signal): Buffer | Promise<Buffer> {
    if (bytes.length < BODY_BYTES_MIN) return protobufOfJson(bytes, REQUEST_FORMS[signal]());
    const converted = this.#last.then(() => this.#convertInThread(bytes, signal));
    // Without the result, which would stay in memory until the next one.
    this.#last = converted.then(
      () => undefined,
      () => undefined,
    );
    return converted;
  }

  async #convertInThread(bytes: Buffer, signal: Signal): Promise<Buffer> {
    const worker = (this.#worker ??= this.#start());
    const reply = await new Promise<JsonReply | undefined>((resolve) => {
      this.#reply = resolve;
      const request: JsonRequest = { signal, bytes: new Uint8Array(bytes) };
      worker.postMessage(request, [request.bytes.buffer]);
    });
    // The thread has died, for lack of memory: so would this process.
    if (reply === undefined) throw new AlmanacError('resources_exhausted', 'JSON body needs too much memory');
    if ('error' in reply) throw new AlmanacError('invalid_arguments', reply.error);
    return Buffer.from(reply.bytes.buffer, reply.bytes.byteOffset, reply.bytes.length);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./json-thread.js', import.meta.url));
    worker.on('message', (reply: JsonReply) => this.#reply?.(reply));
    // After an error the thread exits.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#reply?.(undefined);
    });
    // The thread must not keep the process alive. Called last, since adding a listener undoes it.
    worker.unref();
    return worker;
  }
}
