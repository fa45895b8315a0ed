import type { TimeBounds } from '#shared/segments/bands';

import type { RowSpan } from './row-spans.js';
import type { Fields, WalkSink, RowWalk } from './row-walk.js';

/** Finds the newest time of each label. */
export class NewestTimes implements WalkSink {
  readonly isComplete = false;
  readonly mayRepeat = true;
  readonly #times: (bigint | undefined)[];

  constructor(labelCount: number) {
    this.#times = new Array<undefined>(labelCount).fill(undefined);
  }

  /** Returns the newest time of a label; undefined if it has no rows. */
  of(label: number): bigint | undefined {
    return this.#times[label];
  }

  /** Removes a label, none of whose rows is then a newest one. */
  remove(label: number): void {
    this.#times[label] = undefined;
  }

  /** Returns the part of a time range that has the newest rows of all labels; undefined if there are none. */
  narrowed({ from, to }: TimeBounds): TimeBounds | undefined {
    let least: bigint | undefined;
    for (const time of this.#times) if (time !== undefined && (least === undefined || time < least)) least = time;
    return least === undefined ? undefined : { from: from !== undefined && from > least ? from : least, to };
  }

  begin(): void {
    // Nothing depends on the number of rows.
  }

  add({ from, to, cell }: RowSpan, mask: Uint8Array | undefined, _fields: Fields, walk: RowWalk): void {
    let last = to - 1;
    // The rows of a span are in the order of their times.
    while (last >= from && mask?.[last] === 0) last--;
    if (last < from) return;
    const time = walk.timeOf(last);
    const known = this.#times[cell];
    if (known === undefined || time > known) this.#times[cell] = time;
  }
}
