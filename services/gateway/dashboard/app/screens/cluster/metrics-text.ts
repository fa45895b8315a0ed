/** What the page reads of the metrics of a process. Undefined: the process does not export it. */
export interface NodeSample {
  /** CPU time since the start, in seconds. */
  readonly cpuSeconds: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly memtableBytes: number | undefined;
  readonly walBytes: number | undefined;
  readonly writtenRows: number | undefined;
}

/** Ends of the names of metrics: their beginnings are configured. */
const NAMES: Readonly<Record<keyof NodeSample, string>> = {
  cpuSeconds: '_process_cpu_seconds_total',
  memoryBytes: '_process_resident_memory_bytes',
  memtableBytes: '_ingester_memtable_bytes',
  walBytes: '_ingester_wal_bytes',
  writtenRows: '_ingester_written_rows_total',
};

/** Reads metrics of a process in Prometheus's text format; the values of all label sets are added. */
export function sampleOf(text: string): NodeSample {
  const found: Partial<Record<keyof NodeSample, number>> = {};
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = /^([\w:]+)(?:\{[^]*\})? (\S+)/.exec(line);
    if (match === null) continue;
    const [, metric, value] = match;
    for (const [name, end] of Object.entries(NAMES) as [keyof NodeSample, string][]) {
      if (metric.endsWith(end)) found[name] = (found[name] ?? 0) + Number(value);
    }
  }
  const { cpuSeconds, memoryBytes, memtableBytes, walBytes, writtenRows } = found;
  return { cpuSeconds, memoryBytes, memtableBytes, walBytes, writtenRows };
}

/** A sample and when it was taken, in milliseconds of a clock that never goes back. */
export interface TimedSample {
  readonly atMs: number;
  readonly sample: NodeSample;
}

/** Returns how much a counter grows a second between two samples; undefined if that is unknown, or the process has restarted. */
export function rateOf(
  name: 'cpuSeconds' | 'writtenRows',
  before: TimedSample,
  after: TimedSample,
): number | undefined {
  const [from, to] = [before.sample[name], after.sample[name]];
  const seconds = (after.atMs - before.atMs) / 1000;
  return from === undefined || to === undefined || to < from || seconds <= 0 ? undefined : (to - from) / seconds;
}
