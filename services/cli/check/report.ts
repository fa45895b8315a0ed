import type { Problem } from '#shared/errors/problem';

/** Receives findings as they are made. */
export interface ReportSink {
  problem(problem: Problem): void;
  note(text: string): void;
}

/** Counts what a check has read so far, and forwards its findings. */
export class Report {
  readonly segments = { files: 0, rows: 0, bytes: 0 };
  readonly seriesFiles = { files: 0, bytes: 0 };
  readonly log = { files: 0, records: 0, bytes: 0 };
  /** Files of the store that no manifest names. */
  readonly orphans = { files: 0, bytes: 0 };
  problems = 0;
  readonly #sink: ReportSink;

  constructor(sink: ReportSink) {
    this.#sink = sink;
  }

  problem(problem: Problem): void {
    this.problems++;
    this.#sink.problem(problem);
  }

  note(text: string): void {
    this.#sink.note(text);
  }
}
