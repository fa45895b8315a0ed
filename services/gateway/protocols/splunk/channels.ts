import { LRUCache } from 'lru-cache';

import { splunkError } from './codes.js';

const CHANNELS_MAX = 1_000;
/** Acknowledgements of a channel that no client has read; the oldest are dropped. */
const ACKS_MAX = 10_000;
const CHANNEL = /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

interface Channel {
  lastId: number;
  readonly unread: Set<number>;
}

/** Acknowledgements of writes by channel: every write is durable when it has one. */
export class AckChannels {
  readonly #channels = new LRUCache<string, Channel>({ max: CHANNELS_MAX });

  /** Returns the number of a new acknowledgement. */
  add(name: string): number {
    let channel = this.#channels.get(name);
    if (channel === undefined) this.#channels.set(name, (channel = { lastId: -1, unread: new Set<number>() }));
    const { unread } = channel;
    const id = ++channel.lastId;
    unread.add(id);
    for (const oldest of unread) {
      if (unread.size <= ACKS_MAX) break;
      unread.delete(oldest);
    }
    return id;
  }

  /** Returns which acknowledgements the channel has; each is returned as true once. */
  take(name: string, ids: readonly number[]): Record<string, boolean> {
    const unread = this.#channels.get(name)?.unread;
    return Object.fromEntries(ids.map((id) => [String(id), unread?.delete(id) ?? false]));
  }
}

/** Checks the name of a channel. @throws an error with a code of the event collector. */
export function checkChannel(name: string): void {
  if (!CHANNEL.test(name)) throw splunkError(11);
}
