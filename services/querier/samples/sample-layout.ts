import type { Table } from '#shared/contracts/gen/common';
import type { ScanBatch } from '#shared/contracts/gen/ingester';

import type { RowsLayout } from '../snapshot/rows-layout.js';
import type { RegionView } from '../snapshot/fresh-rows.js';
import { LabelIndex } from '../series/label-index.js';
import type { LabelsCache } from '../series/labels-cache.js';
import type { SharedIndexes } from '../series/shared-indexes.js';
import { SamplePart } from './sample-part.js';

/** A region's rows and series as arrays, for PromQL. */
export type SampleView = RegionView<SamplePart, LabelIndex>;

/** Collaborators of a `SampleLayout`. */
export interface SampleLayoutDeps {
  readonly indexes: SharedIndexes;
  readonly labelsMemory: LabelsCache;
  /** Called for each index that no query reads any more. */
  readonly onDropped: (index: LabelIndex) => void;
}

/** Keeps unflushed rows and series as arrays, for PromQL. */
export class SampleLayout implements RowsLayout<SamplePart, LabelIndex> {
  readonly #deps: SampleLayoutDeps;

  constructor(deps: SampleLayoutDeps) {
    this.#deps = deps;
  }

  createPart(_regionId: number, table: Table, first: ScanBatch): Promise<SamplePart> {
    return Promise.resolve(new SamplePart(table, first));
  }

  createSeries(regionId: number, table: Table): Promise<LabelIndex> {
    const { indexes, labelsMemory } = this.#deps;
    return Promise.resolve(new LabelIndex(indexes.open(regionId, table), labelsMemory));
  }

  drop(rows: SamplePart | LabelIndex): Promise<void> {
    if (rows instanceof LabelIndex) {
      rows.close();
      this.#deps.onDropped(rows);
    }
    return Promise.resolve();
  }
}
