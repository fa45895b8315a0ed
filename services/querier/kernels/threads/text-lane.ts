import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';

import type { ColumnCounts } from '../../columns/query-columns.js';
import { NotForKernels, NotNowForKernels } from '../query.js';
import type { RowsText } from '../result/result-text.js';
import type { Refusal } from '../scan.js';
import type { TextJob, TextReply } from './text-job.js';

/** Texts that one thread writes for a query. */
export class TextLane {
  readonly #port: MessagePort;
  readonly #replies: TextReply[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;
  /** What the thread has read; undefined until it has sent all texts. */
  counts: ColumnCounts | undefined;

  constructor(worker: Worker, job: Omit<TextJob, 'port'>) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', (reply: TextReply) => {
      this.#replies.push(reply);
      this.#wake?.();
    });
    // It also closes when the thread ends.
    port1.on('close', () => {
      this.#isClosed = true;
      this.#wake?.();
    });
    worker.postMessage({ ...job, port: port2 } satisfies TextJob, [port2]);
  }

  /** Whether the thread has sent all texts. */
  get isDone(): boolean {
    return this.counts !== undefined;
  }

  /** Takes the texts of the next row group. @throws `NotForKernels` if the engine must run the query. */
  async *group(): AsyncGenerator<RowsText> {
    for (;;) {
      const reply = await this.#next();
      if (reply === 'group') return;
      if ('counts' in reply) {
        this.counts = reply.counts;
        return;
      }
      if ('refusal' in reply) throw errorOf(reply);
      yield reply;
      this.#port.postMessage(reply.text.length);
    }
  }

  /** Ends the work of the thread. */
  close(): void {
    this.#port.close();
  }

  async #next(): Promise<TextReply> {
    for (;;) {
      const reply = this.#replies.shift();
      if (reply !== undefined) return reply;
      if (this.#isClosed) throw new NotNowForKernels('a thread for scans ended');
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** Returns the error for a refusal. */
export function errorOf({ refusal, isForNow }: Refusal): NotForKernels {
  return isForNow ? new NotNowForKernels(refusal) : new NotForKernels(refusal);
}
