/** A label of a metric, and how many series have each value. */
export interface LabelCounts {
  readonly name: string;
  /** Most frequent first. */
  readonly values: readonly { readonly value: string; readonly count: number }[];
}

/** Counts the values of all labels but the name; the label with most values first. */
export function countLabels(series: readonly Readonly<Record<string, string>>[]): readonly LabelCounts[] {
  const byName = new Map<string, Map<string, number>>();
  for (const labels of series) {
    for (const [name, value] of Object.entries(labels)) {
      if (name === '__name__') continue;
      const counts = byName.get(name) ?? new Map<string, number>();
      byName.set(name, counts);
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  const all = [...byName].map(([name, counts]): LabelCounts => {
    const values = [...counts].map(([value, count]) => ({ value, count }));
    return { name, values: values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)) };
  });
  return all.sort((a, b) => b.values.length - a.values.length || (a.name < b.name ? -1 : 1));
}

/** Reads a label pair of statistics, `name=value`: names of labels have no `=`, except quoted ones, which are rare. */
export function pairOf(text: string): { readonly name: string; readonly value: string } {
  const at = text.indexOf('=');
  return at < 0 ? { name: text, value: '' } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

/** A number of series, and what it was. */
export interface ComparedCount {
  readonly name: string;
  readonly count: number;
  readonly before: number;
}

/** Compares numbers by name, the largest first; names that are gone have zero. */
export function comparedCounts(
  now: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, number>,
): readonly ComparedCount[] {
  const names = [...new Set([...now.keys(), ...before.keys()])];
  const all = names.map((name) => ({ name, count: now.get(name) ?? 0, before: before.get(name) ?? 0 }));
  return all.sort((a, b) => b.count - a.count || b.before - a.before || (a.name < b.name ? -1 : 1));
}
