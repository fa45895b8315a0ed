/** State of the screen as its own parameters. */
export type ScreenParameters = Readonly<Record<string, string | undefined>>;

/**
 * Translates parameters of the pages of Prometheus and VictoriaMetrics (`g0.expr` ..), so that their links work with
 * another host. @returns undefined if there are none.
 */
export function foreignParameters(parameters: URLSearchParams): ScreenParameters | undefined {
  const query = parameters.get('g0.expr');
  if (query === null) return undefined;
  const length = parameters.get('g0.range_input');
  const end = parameters.get('g0.end_input') ?? parameters.get('g0.moment_input');
  const removed = [...parameters.keys()]
    .filter((name) => /^g\d+\./.test(name))
    .map((name) => [name, undefined] as const);
  return {
    ...Object.fromEntries(removed),
    ...rangeOf(length, end),
    mode: 'promql',
    q: query,
    step: parameters.get('g0.step_input') ?? undefined,
    instant: isTable(parameters.get('g0.tab')) ? '1' : undefined,
    view: isTable(parameters.get('g0.tab')) ? 'table' : 'chart',
  };
}

function rangeOf(length: string | null, end: string | null): ScreenParameters {
  if (length === null || !/^(\d+[smhdwy])+$/.test(length)) return {};
  const endMs = end === null ? NaN : Date.parse(/Z|[+-]\d\d:?\d\d$/.test(end) ? end : `${end.replace(' ', 'T')}Z`);
  if (Number.isNaN(endMs)) return { from: `now-${length}`, to: 'now' };
  const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, y: 31_536_000 };
  let seconds = 0;
  for (const [, digits, unit] of length.matchAll(/(\d+)([smhdwy])/g)) seconds += Number(digits) * units[unit];
  return { from: String(endMs - seconds * 1000), to: String(endMs) };
}

/** Tabs are numbers in old versions of Prometheus and in VictoriaMetrics, and words in new ones. */
function isTable(tab: string | null): boolean {
  return tab === '1' || tab === 'table';
}
