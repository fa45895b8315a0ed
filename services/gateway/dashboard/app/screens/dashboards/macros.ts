import { quotedName, quotedText } from '../../data/quote.js';
import type { TimeRange } from '../../time/range.js';
import type { PanelMode } from './document.js';

/** What queries of a dashboard may refer to. */
export interface MacroValues {
  readonly range: TimeRange;
  readonly stepSeconds: number;
  /** Chosen values by name; several are joined. */
  readonly variables: Readonly<Record<string, readonly string[]>>;
}

const REFERENCE =
  /\$__timeFilter\(\s*"?(?<column>[^()"]+)"?\s*\)|\$\{(?<braced>\w+)(?::(?<format>\w+))?\}|\[\[(?<bracketed>\w+)\]\]|\$(?<plain>\w+)/g;
/** Window of rates: four times the distance of samples that most programs have, or of the points. */
const RATE_SECONDS_MIN = 60;

/**
 * Replaces `$name`, `${name}` and `[[name]]` by the values of variables, and the macros that Grafana knows: `$__from`,
 * `$__to` (milliseconds), `$__interval`, `$__rate_interval`, `$__range`, `$__interval_ms`, `$__range_s`, and in SQL
 * `$__timeFilter(column)`. Unknown names stay.
 */
export function expanded(query: string, mode: PanelMode, values: MacroValues): string {
  return query.replace(REFERENCE, (whole, ...rest) => {
    const { column, braced, format, bracketed, plain } = rest.at(-1) as Readonly<Record<string, string | undefined>>;
    if (column !== undefined) return timeFilter(column.trim(), values.range);
    const name = braced ?? bracketed ?? plain ?? '';
    const builtIn = builtInText(name, values);
    if (builtIn !== undefined) return builtIn;
    const chosen = Object.hasOwn(values.variables, name) ? values.variables[name] : undefined;
    return chosen === undefined ? whole : variableText(chosen, mode, format);
  });
}

function builtInText(name: string, { range: { fromMs, toMs }, stepSeconds }: MacroValues): string | undefined {
  const seconds = Math.max(1, Math.round((toMs - fromMs) / 1000));
  switch (name) {
    case '__from':
      return String(Math.round(fromMs));
    case '__to':
      return String(Math.round(toMs));
    case '__interval':
      return `${stepSeconds}s`;
    case '__interval_ms':
      return String(stepSeconds * 1000);
    case '__rate_interval':
      return `${Math.max(RATE_SECONDS_MIN, 4 * stepSeconds)}s`;
    case '__range':
      return `${seconds}s`;
    case '__range_s':
      return String(seconds);
    default:
      return undefined;
  }
}

function timeFilter(column: string, { fromMs, toMs }: TimeRange): string {
  const name = quotedName(column);
  return `${name} >= ${timeText(fromMs)} AND ${name} <= ${timeText(toMs)}`;
}

function timeText(ms: number): string {
  return quotedText(new Date(ms).toISOString());
}

/** In SQL several values are a list of texts; in PromQL they are alternatives of a regular expression. */
function variableText(chosen: readonly string[], mode: PanelMode, format: string | undefined): string {
  if (format === 'raw') return chosen.join(',');
  if (mode === 'sql' || format === 'sqlstring') {
    // A single one is mostly written within quotes.
    return chosen.length === 1 && format !== 'sqlstring'
      ? chosen[0].replaceAll("'", "''")
      : chosen.map(quotedText).join(', ');
  }
  if (chosen.length === 1 && format !== 'regex') return promText(chosen[0]);
  return `(${chosen.map((value) => promText(escapedPattern(value))).join('|')})`;
}

function escapedPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Matchers of PromQL are within quotes, in which a backslash escapes. */
function promText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
}

/** Returns the name of a series by a legend such as `{{host}} of {{ job }}`. */
export function legendText(legend: string, labels: Readonly<Record<string, string>>): string {
  return legend.replace(/\{\{\s*([\w.]+)\s*\}\}/g, (_whole, label: string) => labels[label] ?? '');
}
