import { Session } from 'node:inspector/promises';

import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Name of the thread that runs the event loop of the process. */
export const MAIN_THREAD = 'main';

/** A JavaScript thread of this process, as the inspector reaches it. */
export interface InspectedThread {
  /** `MAIN_THREAD`, or the file name of a worker. */
  readonly name: string;
  /** Calls a method of the inspector protocol. @throws `internal` if it fails or the thread ends. */
  post<R>(method: string, params?: object): Promise<R>;
}

/** Events and calls of the inspector protocol that reach workers. */
interface WorkerEvents {
  readonly sessionId: string;
  readonly message: string;
  readonly workerInfo: { readonly url: string; readonly title: string };
}

interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A worker that has not replied by then is taken to have ended: the inspector does not always say so. */
const REPLY_MS_MAX = 5_000;

/** The inspector of all JavaScript threads of this process, those included that start later. */
export class ThreadSessions {
  readonly #session = new Session();
  readonly #workers = new Map<string, WorkerSession>();
  readonly #clock: Clock;
  readonly #onThread: (thread: InspectedThread) => void;

  private constructor(clock: Clock, onThread: (thread: InspectedThread) => void) {
    this.#clock = clock;
    this.#onThread = onThread;
  }

  /**
   * Opens the inspector.
   *
   * @param onThread called for each thread that starts later.
   */
  static async open(
    clock: Clock,
    onThread: (thread: InspectedThread) => void = () => undefined,
  ): Promise<ThreadSessions> {
    const sessions = new ThreadSessions(clock, onThread);
    await sessions.#open();
    return sessions;
  }

  /** All threads, the main one first. */
  get threads(): readonly InspectedThread[] {
    const main: InspectedThread = {
      name: MAIN_THREAD,
      post: async <R>(method: string, params?: object) => (await this.#post(method, params)) as R,
    };
    return [main, ...this.#workers.values()];
  }

  close(): void {
    for (const worker of this.#workers.values()) worker.end();
    this.#workers.clear();
    this.#session.disconnect();
  }

  async #open(): Promise<void> {
    const session = this.#session;
    session.connect();
    const on = (event: string, use: (params: WorkerEvents) => void): void => {
      session.on(event, ({ params }: { params: WorkerEvents }) => use(params));
    };
    let isOpen = false;
    on('NodeWorker.attachedToWorker', ({ sessionId, workerInfo }) => {
      const send = (message: string): Promise<unknown> => {
        return this.#post('NodeWorker.sendMessageToWorker', { sessionId, message });
      };
      const worker = new WorkerSession(nameOf(workerInfo.url), this.#clock, send);
      this.#workers.set(sessionId, worker);
      if (isOpen) this.#onThread(worker);
    });
    on('NodeWorker.detachedFromWorker', ({ sessionId }) => {
      this.#workers.get(sessionId)?.end();
      this.#workers.delete(sessionId);
    });
    on('NodeWorker.receivedMessageFromWorker', ({ sessionId, message }) => {
      this.#workers.get(sessionId)?.receive(JSON.parse(message) as Reply);
    });
    await this.#post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    isOpen = true;
  }

  #post(method: string, params?: object): Promise<unknown> {
    // The overloads of Node's types know each method; these are given by name.
    const post = this.#session.post.bind(this.#session) as (name: string, given?: object) => Promise<unknown>;
    return post(method, params);
  }
}

/** One worker. */
class WorkerSession implements InspectedThread {
  readonly name: string;
  readonly #clock: Clock;
  readonly #send: (message: string) => Promise<unknown>;
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #lastId = 0;

  constructor(name: string, clock: Clock, send: (message: string) => Promise<unknown>) {
    this.name = name;
    this.#clock = clock;
    this.#send = send;
  }

  post<R>(method: string, params: object = {}): Promise<R> {
    const id = ++this.#lastId;
    return new Promise<R>((resolve, reject) => {
      const fail = (error: unknown): void => {
        this.#waiting.delete(id);
        reject(AlmanacError.from(error));
      };
      const timer = this.#clock.after(REPLY_MS_MAX, () => fail(ended()));
      this.#waiting.set(id, {
        resolve: (result) => {
          timer.cancel();
          resolve(result as R);
        },
        reject,
      });
      this.#send(JSON.stringify({ id, method, params })).catch(fail);
    });
  }

  receive({ id, result, error }: Reply): void {
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || waiting === undefined) return;
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(new AlmanacError('internal', error.message));
  }

  end(): void {
    for (const { reject } of this.#waiting.values()) reject(ended());
    this.#waiting.clear();
  }
}

function ended(): AlmanacError {
  return new AlmanacError('internal', 'the thread has ended');
}

function nameOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1).replace(/\.[cm]?js$/, '');
}
