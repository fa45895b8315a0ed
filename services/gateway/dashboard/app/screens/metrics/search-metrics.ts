import type { MetricFacts } from './metric-kind.js';

/** A metric of the list. */
export interface ListedMetric extends MetricFacts {
  /** Undefined if the server did not count it. */
  readonly seriesCount: number | undefined;
}

/** Descriptions by metric, as the Prometheus API replies. */
export type MetadataReply = Readonly<
  Record<string, readonly { readonly type?: string; readonly help?: string; readonly unit?: string }[]>
>;

/** Names of a family whose description is under the name without it. */
const SUFFIX = /_(bucket|sum|count|total|created|info)$/;

/** Puts names, descriptions and counts together, in the order of names. */
export function listMetrics(
  names: readonly string[],
  metadata: MetadataReply,
  counts: ReadonlyMap<string, number>,
): readonly ListedMetric[] {
  return names.map((name): ListedMetric => {
    // Names of metrics are those of members of any object, too.
    const own = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    const family = name.replace(SUFFIX, '');
    const [entry] = own ?? (Object.hasOwn(metadata, family) ? metadata[family] : []);
    const { type = '', help = '', unit = '' } = entry ?? {};
    return { name, type: type === 'unknown' ? '' : type, help, unit, seriesCount: counts.get(name) };
  });
}

/** Returns the metrics whose name, type or help has all words, in any order; those whose name has them first. */
export function searchMetrics(metrics: readonly ListedMetric[], words: string): readonly ListedMetric[] {
  const wanted = words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (wanted.length === 0) return metrics;
  const [byName, byText]: [ListedMetric[], ListedMetric[]] = [[], []];
  for (const metric of metrics) {
    const name = metric.name.toLowerCase();
    const text = `${name}\n${metric.type}\n${metric.help.toLowerCase()}`;
    if (wanted.every((word) => name.includes(word))) byName.push(metric);
    else if (wanted.every((word) => text.includes(word))) byText.push(metric);
  }
  return [...byName, ...byText];
}
