/** Panels of typical node exporter dashboards. */
export interface Panel {
  readonly name: string;
  readonly query: string;
}

export const PANELS: readonly Panel[] = [
  { name: 'gauge', query: 'node_memory_Active_0{instance=~"node-1.*"}' },
  { name: 'rate', query: 'rate(node_network_active_0_total{device="eth0"}[1m])' },
  {
    name: 'cpu-busy',
    query: '100 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m])) * 100',
  },
  { name: 'sum-by-mode', query: 'sum by (mode) (rate(node_cpu_seconds_total[5m]))' },
  { name: 'sum-by-two', query: 'sum by (instance, device) (rate(node_disk_cached_1_total[5m]))' },
  { name: 'topk', query: 'topk(5, sum by (instance) (increase(node_network_cached_1_total[10m])))' },
  {
    name: 'join',
    query:
      '1 - node_filesystem_active_bytes{fstype="ext4"} / on (instance, mountpoint) node_filesystem_cached_bytes{fstype="ext4"}',
  },
  {
    name: 'histogram-quantile',
    query: 'histogram_quantile(0.95, sum by (le) (rate(node_scrape_duration_seconds_bucket[5m])))',
  },
  {
    name: 'quantile-by',
    query: 'histogram_quantile(0.5, sum by (le, instance) (rate(node_scrape_duration_seconds_bucket[5m])))',
  },
  { name: 'over-time', query: 'max by (instance) (max_over_time(node_memory_Active_0[30m]))' },
];

export interface Range {
  readonly name: 'instant' | '1h' | '6h';
  readonly seconds: number;
  readonly stepSeconds: number;
}

export const RANGES: readonly Range[] = [
  { name: 'instant', seconds: 0, stepSeconds: 0 },
  { name: '1h', seconds: 3_600, stepSeconds: 15 },
  { name: '6h', seconds: 6 * 3_600, stepSeconds: 60 },
];

/** Path and form of a panel whose range ends at a time in Unix seconds. */
export function panelRequest(
  { query }: Panel,
  { name, seconds, stepSeconds }: Range,
  end: number,
): { readonly path: string; readonly form: Readonly<Record<string, string>> } {
  if (name === 'instant') return { path: '/api/v1/query', form: { query, time: String(end) } };
  const form = { query, start: String(end - seconds), end: String(end), step: String(stepSeconds) };
  return { path: '/api/v1/query_range', form };
}
