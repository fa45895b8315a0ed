import type { SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanBatch, ScanPart } from '#shared/contracts/gen/ingester';
import type { RowBatch } from '#shared/rowbatch/row-batch';

/** Something that snapshots hold: it is let go of when nobody does and it is not up to date any more. */
interface Pinned {
  /** Snapshots that read it. */
  pins: number;
  isObsolete: boolean;
}

/** Unflushed rows of one generation of a region, in the order of their sequences. Rows are only added. */
export interface RowsPart extends Pinned {
  readonly generation: number;
  readonly sequenceFrom: bigint;
  readonly sequenceTo: bigint;
  /** Rows that can be read; later ones may be added while a query runs. */
  readonly rowCount: number;
  /** Whether rows of the batch can go here. */
  takes(scanned: ScanBatch, batch: RowBatch): boolean;
  /** Whether the table has columns by now whose values were left out here. */
  lacks(table: Table): boolean;
  /**
   * Adds rows; they can be read after `flush`.
   *
   * @param rest is awaited between slices: a batch may have hundreds of thousands of rows.
   */
  append(scanned: ScanBatch, batch: RowBatch, rest: () => Promise<void>): Promise<void>;
  flush(): void;
}

/** The series of a region, numbers ascending without gaps. */
export interface SeriesRows extends Pinned {
  /** Series below this number are in it. */
  readonly count: number;
  /**
   * Whether it can have every tag of the table, and is as it would be made now.
   *
   * @param publishedCount series below this number are in series files.
   */
  fits(table: Table, publishedCount: number): boolean;
  /** Adds what the files have more; they begin at or below `count`, and were checked. */
  load(files: readonly SeriesFile[]): Promise<void>;
  /** Adds definitions that are in no file yet. */
  append(part: ScanPart): Promise<void>;
}

/** In which form the unflushed rows and the series of regions are kept for reads. */
export interface RowsLayout<P extends RowsPart, S extends SeriesRows> {
  /** An empty part for `first`, which has the rows of `batch`, and what follows. */
  createPart(regionId: number, table: Table, first: ScanBatch, batch: RowBatch): Promise<P>;
  /** Without series; undefined if reads of this form need none of the table. */
  createSeries(regionId: number, table: Table): Promise<S | undefined>;
  /** Lets go of what nobody reads any more. It does not fail. */
  drop(rows: P | S): Promise<void>;
}
