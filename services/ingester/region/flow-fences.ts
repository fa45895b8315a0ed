import type { FlowOwner } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Beyond this many flows, those that were fenced longest ago are removed. */
const FENCES_MAX = 10_000;

/**
 * The latest owner of each flow that was announced here.
 *
 * In memory only: what an earlier owner has sent does not survive the end of this process either, and what it sends
 * afterwards it sends after its deadline.
 */
export class FlowFences {
  readonly #epochs = new Map<number, number>();

  raise({ flowId, epoch }: FlowOwner): void {
    const latest = Math.max(epoch, this.#epochs.get(flowId) ?? 0);
    // Again at the end: a map has the order in which its keys were added.
    this.#epochs.delete(flowId);
    this.#epochs.set(flowId, latest);
    if (this.#epochs.size <= FENCES_MAX) return;
    const [oldest] = this.#epochs.keys();
    this.#epochs.delete(oldest);
  }

  /** @throws `illegal_state` if the flow has a later owner. */
  check({ flowId, epoch }: FlowOwner): void {
    if (epoch >= (this.#epochs.get(flowId) ?? 0)) return;
    throw new AlmanacError('illegal_state', `flow ${flowId} has another owner`);
  }
}
