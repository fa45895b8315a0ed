import type { SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanBatch, ScanPart } from '#shared/contracts/gen/ingester';
import type { RowBatch } from '#shared/rowbatch/row-batch';

import type { IndexReader } from '../series/shared-indexes.js';

/** An object that snapshots hold. It is dropped when it is obsolete and no snapshot holds it. */
interface Pinned {
  /** Number of snapshots that hold it. */
  pins: number;
  isObsolete: boolean;
}

/** Unflushed rows of one generation of a region, in the order of their sequences. Rows are only appended. */
export interface RowsPart extends Pinned {
  readonly generation: number;
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
  /** Number of readable rows; it can grow while a query runs. */
  readonly rowCount: number;
  /** Reports whether the part can store the rows of the batch. */
  accepts(scanned: ScanBatch, batch: RowBatch): boolean;
  /** Reports whether `table` has columns whose values the part dropped as unknown. */
  isOutdatedFor(table: Table): boolean;
  /**
   * Appends rows; they are readable after `flush`.
   *
   * @param pause yields to the event loop; awaited between chunks, because a batch can have hundreds of thousands of rows
   */
  append(scanned: ScanBatch, batch: RowBatch, pause: () => Promise<void>): Promise<void>;
  flush(): void;
  /** Called when the part is obsolete; views that are held still read it. */
  noteObsolete?(): void;
}

/** The series of a region, with ascending numbers and no gaps. */
export interface SeriesRows extends Pinned {
  /** Number of series; all lower series numbers are present. */
  readonly count: number;
  /**
   * Reports whether the object can store every tag of the table and still has the storage that a new one would use.
   *
   * @param publishedCount series below this number are in series files
   */
  fits(table: Table, publishedCount: number): boolean;
  /** Adds the series of the files from `count` on. The files start at or below `count` and must have been checked. */
  load(files: readonly SeriesFile[]): Promise<void>;
  /** Adds the definitions of series that are in no file yet. */
  append(part: ScanPart): Promise<void>;
  /** Shares the index of the series with other layouts. @param owner identifies who numbered the series */
  share(owner: string): void;
  /** Sets who discards the series when other indexes need the memory. */
  readBy(reader: IndexReader): void;
}

/** Storage layout of unflushed rows and series: tables of the query instance for SQL, arrays for PromQL. */
export interface RowsLayout<P extends RowsPart, S extends SeriesRows> {
  /** Creates an empty part for `first`, which has the rows of `batch`, and the batches after it. */
  createPart(regionId: number, table: Table, first: ScanBatch, batch: RowBatch): Promise<P>;
  /** Creates an empty set of series; undefined if the layout needs none of the table. */
  createSeries(regionId: number, table: Table): Promise<S | undefined>;
  /** Drops rows that no snapshot reads any more. Never rejects. */
  drop(rows: P | S): Promise<void>;
}
