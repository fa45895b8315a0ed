import type { ValueUnit } from '../../../format/numbers.js';
import { isObject, listOf, newPanel, textOf, type DashboardVariable, type Panel, type PanelType } from '../document.js';
import { settled } from '../layout.js';
import type { ImportedDashboard } from './grafana.js';

const PERSES_COLUMNS = 24;
const TYPES: Readonly<Record<string, PanelType>> = {
  TimeSeriesChart: 'chart',
  StatChart: 'stat',
  GaugeChart: 'stat',
  Table: 'table',
  TimeSeriesTable: 'table',
  Markdown: 'text',
};
const UNITS: Readonly<Record<string, ValueUnit>> = {
  bytes: 'bytes',
  'bytes/sec': 'bytes/s',
  seconds: 'seconds',
  percent: 'percent',
  'percent-decimal': 'ratio',
  decimal: 'short',
};

/** Whether a value of JSON looks like a dashboard of Perses. */
export function isPerses(raw: Record<string, unknown>): boolean {
  return raw['kind'] === 'Dashboard' && isObject(raw['spec']);
}

/** Converts a dashboard of Perses. */
export function fromPerses(raw: Record<string, unknown>): ImportedDashboard {
  const spec = objectIn(raw, 'spec');
  const leftOut: string[] = [];
  const panels = objectIn(spec, 'panels');
  const items = listOf(spec['layouts']).flatMap((layout, i) =>
    listOf(objectIn(layout, 'spec')['items']).map((item) => ({ item, group: i })),
  );
  const placed = items.flatMap(({ item, group }) => {
    const name = textOf(objectIn(item, 'content')['$ref']).replace('#/spec/panels/', '');
    const panel = Object.hasOwn(panels, name) ? panels[name] : undefined;
    return isObject(panel) ? panelOf(objectIn(panel, 'spec'), item, group, leftOut) : [];
  });
  const title = textOf(objectIn(spec, 'display')['name']) || textOf(objectIn(raw, 'metadata')['name']);
  return {
    document: {
      title,
      variables: listOf(spec['variables']).flatMap((variable) => variableOf(variable, leftOut)),
      range: textOf(spec['duration']) === '' ? undefined : { from: `now-${textOf(spec['duration'])}`, to: 'now' },
      panels: settled(placed),
    },
    leftOut,
  };
}

function objectIn(raw: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = raw[name];
  return isObject(value) ? value : {};
}

/** Groups are below each other: each begins far below the one before. */
const GROUP_ROWS = 1000;

function panelOf(
  spec: Record<string, unknown>,
  item: Record<string, unknown>,
  group: number,
  leftOut: string[],
): Panel[] {
  const plugin = objectIn(spec, 'plugin');
  const title = textOf(objectIn(spec, 'display')['name']);
  const type = TYPES[textOf(plugin['kind'])];
  if (type === undefined) {
    leftOut.push(`panel "${title}": the type ${textOf(plugin['kind'])}`);
    return [];
  }
  const options = objectIn(plugin, 'spec');
  const queries = listOf(spec['queries']).flatMap((query) => {
    const source = objectIn(objectIn(query, 'spec'), 'plugin');
    const { query: text, seriesNameFormat } = objectIn(source, 'spec');
    return textOf(text) === '' ? [] : [{ q: textOf(text), legend: textOf(seriesNameFormat) }];
  });
  if (type !== 'text' && queries.length === 0) {
    leftOut.push(`panel "${title}": it has no query of PromQL`);
    return [];
  }
  const scale = 12 / PERSES_COLUMNS;
  const number = (name: string, initial: number): number =>
    typeof item[name] === 'number' && Number.isFinite(item[name]) ? item[name] : initial;
  const format = objectIn(options, 'format');
  const axis = objectIn(objectIn(options, 'yAxis'), 'format');
  return [
    newPanel({
      ...{ title, type, queries, text: textOf(options['text']) },
      x: Math.round(number('x', 0) * scale),
      y: group * GROUP_ROWS + number('y', 0),
      w: Math.max(1, Math.min(12, Math.round(number('width', 12) * scale))),
      h: Math.max(2, Math.min(60, number('height', 8))),
      unit: UNITS[textOf(axis['unit']) || textOf(format['unit'])] ?? '',
    }),
  ];
}

function variableOf(raw: Record<string, unknown>, leftOut: string[]): DashboardVariable[] {
  const spec = objectIn(raw, 'spec');
  const name = textOf(spec['name']);
  const plugin = objectIn(spec, 'plugin');
  const options = objectIn(plugin, 'spec');
  if (raw['kind'] === 'TextVariable') return [{ name, mode: 'list', query: textOf(spec['value']) }];
  if (plugin['kind'] === 'StaticListVariable' && Array.isArray(options['values'])) {
    const values = options['values'].map((value) => textOf(isObject(value) ? value['value'] : value));
    return [{ name, mode: 'list', query: values.join(',') }];
  }
  if (plugin['kind'] === 'PrometheusLabelValuesVariable') {
    const [matcher] = Array.isArray(options['matchers']) ? options['matchers'].map(textOf) : [];
    const label = textOf(options['labelName']);
    return [{ name, mode: 'promql', query: matcher ? `label_values(${matcher}, ${label})` : `label_values(${label})` }];
  }
  leftOut.push(`variable ${name}: the type ${textOf(plugin['kind']) || textOf(raw['kind'])}`);
  return [];
}
