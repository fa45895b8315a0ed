const TOTAL = /_total$/;
const HEADER = /^# (HELP|TYPE) (\S+) (.*)$/;

/** Media type of `openMetricsText`. */
export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/**
 * Turns metrics in the Prometheus text format into OpenMetrics. Samples keep their names: a counter whose name does not end in
 * `_total`, which OpenMetrics would append, has the type `unknown`.
 *
 * @param text families one after the other.
 * @see https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
export function openMetricsText(text: string): string {
  const lines: string[] = [];
  const counters = new Set(Array.from(text.matchAll(/^# TYPE (\S+_total) counter$/gm), ([, name]) => name));
  for (const line of text.split('\n')) {
    if (line === '') continue;
    if (!line.startsWith('#')) {
      lines.push(line.replace(/ Nan$/, ' NaN'));
      continue;
    }
    const [, kind, name, rest] = HEADER.exec(line) ?? [];
    if (kind === undefined) continue;
    const family = counters.has(name) ? name.replace(TOTAL, '') : name;
    if (kind === 'HELP') lines.push(`# HELP ${family} ${rest.replaceAll('"', '\\"')}`);
    else lines.push(`# TYPE ${family} ${typeOf(rest, counters.has(name))}`);
  }
  return `${lines.join('\n')}\n# EOF\n`;
}

function typeOf(type: string, isNamedAsCounter: boolean): string {
  return type === 'untyped' || (type === 'counter' && !isNamedAsCounter) ? 'unknown' : type;
}
