import type { RequestRows } from '../common/request-rows.js';
import { keyNameProblem, type ParsedKey } from './key.js';
import type { KeyOrder } from './key-order.js';
import type { KnownKey, LineCache } from './line-cache.js';
import type { RecentTimes } from './recent-times.js';
import type { NanosecondTime } from './timestamp.js';

/** A body that both line readers work on. */
export interface LineBody {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly cache: LineCache;
  readonly order: KeyOrder;
  readonly rows: RequestRows;
  readonly times: RecentTimes;
  /** Time of lines without a timestamp. */
  readonly now: NanosecondTime;
}

/** Adds the key `[from, end)` of a new series. @returns the reason, as a text, if its names are not allowed. */
export function learnKey(
  { bytes, cache, order }: Pick<LineBody, 'bytes' | 'cache' | 'order'>,
  from: number,
  end: number,
  parsed: ParsedKey,
): KnownKey | string {
  const problem = keyNameProblem(parsed);
  if (problem !== '') return problem;
  const known = cache.add(bytes, from, end, parsed);
  order.refresh();
  return known;
}
