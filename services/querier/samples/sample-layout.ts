import type { Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';

import type { RowsLayout } from '../snapshot/rows-layout.js';
import type { RegionView } from '../snapshot/fresh-rows.js';
import { labelOfTagColumn } from './metric-table.js';
import { LabelIndex, type LabelIndexDeps } from '../series/label-index.js';
import { SamplePart } from './sample-part.js';

/** A region's rows and series as arrays, for PromQL. */
export type SampleView = RegionView<SamplePart, LabelIndex>;

/** Keeps unflushed rows and series as arrays, for PromQL. */
export class SampleLayout implements RowsLayout<SamplePart, LabelIndex> {
  readonly #deps: LabelIndexDeps;

  constructor(deps: LabelIndexDeps) {
    this.#deps = deps;
  }

  createPart(_regionId: number, table: Table, first: ScanBatch): Promise<SamplePart> {
    return Promise.resolve(new SamplePart(table, first));
  }

  createSeries(_regionId: number, table: Table): Promise<LabelIndex> {
    return Promise.resolve(new LabelIndex(table, (column) => labelOfTagColumn(table, column), this.#deps));
  }

  drop(): Promise<void> {
    return Promise.resolve();
  }
}
