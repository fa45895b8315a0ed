import type { KeyOrder } from './key-order.js';
import type { RecentTimes } from './recent-times.js';
import type { RequestRows } from './request-rows.js';
import type { SeriesCache } from './series-cache.js';
import type { NanosecondTime } from './timestamp.js';

/** What both readers of a body work on. */
export interface Body {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly cache: SeriesCache;
  readonly order: KeyOrder;
  readonly rows: RequestRows;
  readonly times: RecentTimes;
  /** Time of lines that name none. */
  readonly now: NanosecondTime;
}
