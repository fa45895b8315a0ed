import type { RowLabels } from './row-labels.js';

/** A line on its way through a pipeline. */
export interface PipelineLine {
  text: string;
  readonly timeNs: bigint;
  readonly labels: RowLabels;
}

/** A compiled stage. Returns false to drop the line. */
export type LineStage = (line: PipelineLine) => boolean;
