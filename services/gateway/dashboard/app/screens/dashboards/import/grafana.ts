import { VALUE_UNITS, type ValueUnit } from '../../../format/numbers.js';
import {
  COLUMN_COUNT,
  isObject,
  listOf,
  newPanel,
  textOf,
  type DashboardDocument,
  type DashboardVariable,
  type Panel,
  type PanelType,
} from '../document.js';
import { settled } from '../layout.js';

/** A dashboard of another program, and what of it is not in ours. */
export interface ImportedDashboard {
  readonly document: DashboardDocument;
  readonly leftOut: readonly string[];
}

const GRAFANA_COLUMNS = 24;
const TYPES: Readonly<Record<string, PanelType>> = {
  timeseries: 'chart',
  graph: 'chart',
  stat: 'stat',
  gauge: 'stat',
  bargauge: 'stat',
  singlestat: 'stat',
  table: 'table',
  'table-old': 'table',
  logs: 'table',
  heatmap: 'heatmap',
  text: 'text',
};
const UNITS: Readonly<Record<string, ValueUnit>> = {
  bytes: 'bytes',
  decbytes: 'bytes',
  Bps: 'bytes/s',
  binBps: 'bytes/s',
  s: 'seconds',
  percent: 'percent',
  percentunit: 'ratio',
  ops: 'per second',
  reqps: 'per second',
  short: 'short',
  none: 'none',
};

/** Whether a value of JSON looks like a dashboard of Grafana. */
export function isGrafana(raw: Record<string, unknown>): boolean {
  return isObject(raw['dashboard']) || Array.isArray(raw['panels']) || Array.isArray(raw['rows']);
}

/** Converts a dashboard of Grafana, as its export or its API writes it. */
export function fromGrafana(raw: Record<string, unknown>): ImportedDashboard {
  const source = isObject(raw['dashboard']) ? raw['dashboard'] : raw;
  const leftOut: string[] = [];
  const panels = flatPanels(source).flatMap((panel) => panelOf(panel, leftOut));
  const time = isObject(source['time']) ? source['time'] : {};
  const [from, to] = [textOf(time['from']), textOf(time['to'])];
  if (listOf(annotationsOf(source)).some(({ builtIn }) => builtIn !== 1)) leftOut.push('annotations');
  if (Array.isArray(source['links']) && source['links'].length > 0) leftOut.push('links');
  const templating = isObject(source['templating']) ? source['templating'] : {};
  return {
    document: {
      title: textOf(source['title']),
      variables: listOf(templating['list']).flatMap((variable) => variableOf(variable, leftOut)),
      range: from === '' || to === '' ? undefined : { from, to },
      panels: settled(panels),
    },
    leftOut,
  };
}

function annotationsOf(source: Record<string, unknown>): unknown {
  return isObject(source['annotations']) ? source['annotations']['list'] : undefined;
}

/** Returns the panels of rows, opened or not, with the others. Old versions had lists of rows instead of places. */
function flatPanels(source: Record<string, unknown>): Record<string, unknown>[] {
  const rows = listOf(source['rows']);
  if (rows.length > 0) {
    return rows.flatMap((row, i) =>
      listOf(row['panels']).map((panel) => ({
        gridPos: { x: 0, y: i * 8, w: 2 * Number(panel['span'] ?? 12), h: 8 },
        ...panel,
      })),
    );
  }
  return listOf(source['panels']).flatMap((panel) => (panel['type'] === 'row' ? listOf(panel['panels']) : [panel]));
}

function panelOf(raw: Record<string, unknown>, leftOut: string[]): Panel[] {
  const title = textOf(raw['title']);
  const name = `panel "${title}"`;
  const type = TYPES[textOf(raw['type'])];
  if (type === undefined) {
    leftOut.push(`${name}: the type ${textOf(raw['type']) || 'is missing'}`);
    return [];
  }
  const targets = listOf(raw['targets']).filter(({ hide }) => hide !== true);
  const isSql = targets.some((target) => sqlOf(target) !== '');
  const queries = targets.flatMap((target) => {
    const q = isSql ? sqlOf(target) : textOf(target['expr']);
    return q === '' ? [] : [{ q, legend: legendOf(target) }];
  });
  if (queries.length < targets.length) leftOut.push(`${name}: queries of other data sources`);
  if (type !== 'text' && queries.length === 0) {
    if (targets.length === 0) leftOut.push(`${name}: it has no query`);
    return [];
  }
  if (listOf(raw['transformations']).length > 0) leftOut.push(`${name}: transformations`);
  const options = isObject(raw['options']) ? raw['options'] : {};
  return [
    newPanel({
      ...{ title, type, queries, ...placeOf(raw['gridPos']) },
      mode: isSql ? 'sql' : 'promql',
      text: textOf(options['content']) || textOf(raw['content']),
      unit: unitOf(raw),
      draw: drawOf(raw),
    }),
  ];
}

function sqlOf(target: Record<string, unknown>): string {
  return textOf(target['rawSql']) || textOf(target['rawSQL']);
}

function legendOf(target: Record<string, unknown>): string {
  const legend = textOf(target['legendFormat']);
  return legend === '__auto' ? '' : legend;
}

function placeOf(raw: unknown): Pick<Panel, 'x' | 'y' | 'w' | 'h'> {
  const place = isObject(raw) ? raw : {};
  const scale = COLUMN_COUNT / GRAFANA_COLUMNS;
  const number = (name: string, initial: number): number => {
    const value = Number(place[name]);
    return Number.isFinite(value) ? value : initial;
  };
  return {
    x: Math.round(number('x', 0) * scale),
    y: Math.max(0, number('y', 0)),
    w: Math.max(1, Math.min(COLUMN_COUNT, Math.round(number('w', 12) * scale))),
    h: Math.max(2, Math.min(60, number('h', 8))),
  };
}

function defaultsOf(raw: Record<string, unknown>): Record<string, unknown> {
  const config = isObject(raw['fieldConfig']) ? raw['fieldConfig'] : {};
  return isObject(config['defaults']) ? config['defaults'] : {};
}

function unitOf(raw: Record<string, unknown>): ValueUnit | '' {
  const [axis] = listOf(raw['yaxes']);
  const name = textOf(defaultsOf(raw)['unit']) || textOf(axis?.['format']) || textOf(raw['format']);
  return UNITS[name] ?? VALUE_UNITS.find((unit) => unit === name) ?? '';
}

function drawOf(raw: Record<string, unknown>): Panel['draw'] {
  const custom = defaultsOf(raw)['custom'];
  const style = isObject(custom) ? custom : {};
  const stacking = isObject(style['stacking']) ? textOf(style['stacking']['mode']) : '';
  if (style['drawStyle'] === 'bars' || raw['bars'] === true) return 'bars';
  if (style['drawStyle'] === 'points') return 'points';
  return raw['stack'] === true || stacking === 'normal' ? 'area' : 'line';
}

function variableOf(raw: Record<string, unknown>, leftOut: string[]): DashboardVariable[] {
  const name = textOf(raw['name']);
  const type = textOf(raw['type']);
  const query = isObject(raw['query']) ? textOf(raw['query']['query']) : textOf(raw['query']);
  if (type === 'custom' || type === 'constant' || type === 'interval') return [{ name, mode: 'list', query }];
  if (type === 'query' && /^\s*label_values\(/.test(query)) return [{ name, mode: 'promql', query }];
  if (type === 'query' && /^\s*select\b/i.test(query)) return [{ name, mode: 'sql', query }];
  // There is one data source here.
  if (type !== 'datasource') leftOut.push(`variable ${name}: the type ${type}`);
  return [];
}
