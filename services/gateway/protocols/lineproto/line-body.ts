import type { RequestRows } from '../common/request-rows.js';
import type { KeyOrder } from './key-order.js';
import type { LineCache } from './line-cache.js';
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
