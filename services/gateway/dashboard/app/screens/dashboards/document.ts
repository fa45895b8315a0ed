import { VALUE_UNITS, type ValueUnit } from '../../format/numbers.js';
import type { ChartKind, ChartScale } from '../../widgets/chart/series.js';

/** All types of panels. */
export const PANEL_TYPES = ['chart', 'stat', 'table', 'heatmap', 'text'] as const;
/** What a panel shows. */
export type PanelType = (typeof PANEL_TYPES)[number];

/** Language of a panel's queries. */
export type PanelMode = 'sql' | 'promql';

/** A query of a panel. */
export interface PanelQuery {
  readonly q: string;
  /** Name of its series, with `{{label}}` for values of labels; '': their labels. */
  readonly legend: string;
}

/** A place in a grid of 12 columns; rows have `PANEL_ROW_PX` pixels. */
export interface PanelPlace {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** A part of a dashboard. */
export interface Panel extends PanelPlace {
  readonly title: string;
  readonly type: PanelType;
  readonly mode: PanelMode;
  readonly queries: readonly PanelQuery[];
  /** Of `text`. */
  readonly text: string;
  /** '': by the names of the query. */
  readonly unit: ValueUnit | '';
  readonly scale: ChartScale;
  readonly draw: ChartKind;
}

/** A value that queries use as `$name`, and that the user chooses. */
export interface DashboardVariable {
  readonly name: string;
  /** `sql`: first column of a statement; `promql`: `label_values(..)`; `list`: values between commas. */
  readonly mode: 'sql' | 'promql' | 'list';
  readonly query: string;
}

/** A dashboard, as it is stored. */
export interface DashboardDocument {
  readonly title: string;
  readonly variables: readonly DashboardVariable[];
  /** The range that it opens with; undefined: that of the page. */
  readonly range: { readonly from: string; readonly to: string } | undefined;
  readonly panels: readonly Panel[];
}

/** Number of columns of the grid. */
export const COLUMN_COUNT = 12;
/** Height of a row of the grid. */
export const PANEL_ROW_PX = 36;
const [PANELS_MAX, QUERIES_MAX, VARIABLES_MAX, HEIGHT_MAX] = [200, 20, 50, 60];

/** A panel with the given members, and defaults for the others. */
export function newPanel(given: Partial<Panel> = {}): Panel {
  return { ...EMPTY_PANEL, ...given };
}

const EMPTY_PANEL: Panel = {
  title: '',
  type: 'chart',
  mode: 'promql',
  queries: [{ q: '', legend: '' }],
  text: '',
  unit: '',
  scale: 'lin',
  draw: 'line',
  ...{ x: 0, y: 0, w: 6, h: 8 },
};

/** Reads a stored dashboard; unknown members are left out. @throws SyntaxError, or an Error that says what is wrong. */
export function parseDashboard(text: string): DashboardDocument {
  const raw = JSON.parse(text) as unknown;
  if (!isObject(raw) || raw['almanac'] !== 1) {
    throw new Error('This is no dashboard of Almanac: "almanac": 1 is missing.');
  }
  const [panels, variables] = [listOf(raw['panels']), listOf(raw['variables'])];
  checkCount(panels.length, PANELS_MAX, 'panels');
  checkCount(variables.length, VARIABLES_MAX, 'variables');
  const range = isObject(raw['range'])
    ? { from: textOf(raw['range']['from']), to: textOf(raw['range']['to']) }
    : undefined;
  return {
    title: textOf(raw['title']),
    variables: variables.flatMap(variableOf),
    range: range === undefined || range.from === '' || range.to === '' ? undefined : range,
    panels: panels.map(panelOf),
  };
}

/** Returns a dashboard as it is stored: indented, without defaults. */
export function dashboardText({ title, variables, range, panels }: DashboardDocument): string {
  const stored = {
    almanac: 1,
    title,
    ...(variables.length === 0 ? {} : { variables }),
    ...(range === undefined ? {} : { range }),
    panels: panels.map(({ text, unit, scale, draw, queries, ...panel }) => ({
      ...panel,
      ...(panel.type === 'text' ? { text } : { queries: queries.map(withoutEmpty) }),
      ...(unit === '' ? {} : { unit }),
      ...(scale === 'lin' ? {} : { scale }),
      ...(draw === 'line' ? {} : { draw }),
    })),
  };
  return `${JSON.stringify(stored, undefined, 2)}\n`;
}

function withoutEmpty({ q, legend }: PanelQuery): object {
  return legend === '' ? { q } : { q, legend };
}

/** What is left out would be lost when the dashboard is stored again. */
function checkCount(count: number, max: number, what: string): void {
  if (count > max) throw new Error(`A dashboard has at most ${max} ${what}, not ${count}.`);
}

function panelOf(raw: Record<string, unknown>): Panel {
  checkCount(listOf(raw['queries']).length, QUERIES_MAX, 'queries in a panel');
  const type = PANEL_TYPES.find((known) => known === raw['type']) ?? 'chart';
  const w = wholeOf(raw['w'], 1, COLUMN_COUNT, 6);
  return {
    title: textOf(raw['title']),
    type,
    mode: raw['mode'] === 'sql' ? 'sql' : 'promql',
    queries: listOf(raw['queries']).map((query) => ({ q: textOf(query['q']), legend: textOf(query['legend']) })),
    text: textOf(raw['text']),
    unit: VALUE_UNITS.find((unit) => unit === raw['unit']) ?? '',
    scale: (['log', 'zero'] as const).find((scale) => scale === raw['scale']) ?? 'lin',
    draw: (['bars', 'points', 'area'] as const).find((draw) => draw === raw['draw']) ?? 'line',
    x: wholeOf(raw['x'], 0, COLUMN_COUNT - w, 0),
    y: wholeOf(raw['y'], 0, 10_000, 0),
    w,
    h: wholeOf(raw['h'], 2, HEIGHT_MAX, 8),
  };
}

function variableOf(raw: Record<string, unknown>): DashboardVariable[] {
  const name = textOf(raw['name']);
  if (!/^[A-Za-z_]\w*$/.test(name)) return [];
  const mode = (['sql', 'promql'] as const).find((known) => known === raw['mode']) ?? 'list';
  return [{ name, mode, query: textOf(raw['query']) }];
}

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the objects of a list of JSON; none if it is no list. */
export function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns a text of JSON; '' if it is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function wholeOf(value: unknown, min: number, max: number, initial: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return Math.max(min, Math.min(max, initial));
  return Math.max(min, Math.min(max, Math.round(value)));
}
