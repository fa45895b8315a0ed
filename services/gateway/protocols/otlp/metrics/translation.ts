/**
 * Translates names of OpenTelemetry to those that dashboards for Prometheus use.
 *
 * @see https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics
 */

/** How names are translated. */
export interface TranslationStrategy {
  /** Whether characters that Prometheus 2 does not allow become `_`. */
  readonly isEscaped: boolean;
  /** Whether names end with the unit and the type. */
  readonly hasSuffixes: boolean;
}

/** The strategies by their names in the header. */
export const STRATEGIES: ReadonlyMap<string, TranslationStrategy> = new Map([
  ['UnderscoreEscapingWithSuffixes', { isEscaped: true, hasSuffixes: true }],
  ['UnderscoreEscapingWithoutSuffixes', { isEscaped: true, hasSuffixes: false }],
  ['NoUTF8EscapingWithSuffixes', { isEscaped: false, hasSuffixes: true }],
  ['NoTranslation', { isEscaped: false, hasSuffixes: false }],
]);

/** What determines the name of a metric. */
export interface MetricIdentity {
  readonly name: string;
  readonly unit: string;
  readonly isMonotonicSum: boolean;
  readonly isGauge: boolean;
}

const UNITS: Readonly<Record<string, string>> = {
  d: 'days',
  h: 'hours',
  min: 'minutes',
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  ns: 'nanoseconds',
  By: 'bytes',
  KiBy: 'kibibytes',
  MiBy: 'mebibytes',
  GiBy: 'gibibytes',
  TiBy: 'tibibytes',
  KBy: 'kilobytes',
  MBy: 'megabytes',
  GBy: 'gigabytes',
  TBy: 'terabytes',
  m: 'meters',
  V: 'volts',
  A: 'amperes',
  J: 'joules',
  W: 'watts',
  g: 'grams',
  Cel: 'celsius',
  Hz: 'hertz',
  '1': '',
  '%': 'percent',
};
const UNITS_PER: Readonly<Record<string, string>> = {
  s: 'second',
  m: 'minute',
  h: 'hour',
  d: 'day',
  w: 'week',
  mo: 'month',
  y: 'year',
};

const NOT_ALPHANUMERIC = /[^a-zA-Z0-9]+/;
const EACH_NOT_ALPHANUMERIC = /[^a-zA-Z0-9]/gu;
const DIGIT = /^[0-9]/;

/** Returns the name under which a metric is stored. */
export function metricNameOf(identity: MetricIdentity, { isEscaped, hasSuffixes }: TranslationStrategy): string {
  if (isEscaped) return escapedName(identity, hasSuffixes);
  return hasSuffixes ? suffixedName(identity) : identity.name;
}

/** Returns the label of an attribute. */
export function labelOf(key: string, { isEscaped }: TranslationStrategy): string {
  if (!isEscaped) return key;
  const label = key.replaceAll(EACH_NOT_ALPHANUMERIC, '_');
  if (DIGIT.test(label)) return `key_${label}`;
  return label.startsWith('_') && !label.startsWith('__') ? `key${label}` : label;
}

function escapedName({ name, unit, isMonotonicSum, isGauge }: MetricIdentity, hasSuffixes: boolean): string {
  let parts = partsOf(name);
  if (hasSuffixes) {
    const { main, per } = unitWords(unit);
    if (main !== '' && !parts.includes(main)) parts.push(main);
    if (per !== '' && !parts.includes(per)) parts.push('per', per);
    if (isMonotonicSum) parts = [...parts.filter((part) => part !== 'total'), 'total'];
    else if (isGauge && unit === '1') parts = [...parts.filter((part) => part !== 'ratio'), 'ratio'];
  }
  const joined = parts.join('_');
  return DIGIT.test(joined) ? `_${joined}` : joined;
}

function suffixedName({ name, unit, isMonotonicSum, isGauge }: MetricIdentity): string {
  const { main, per } = unitWords(unit);
  const suffixes = [
    main,
    per === '' ? '' : `per_${per}`,
    isMonotonicSum ? 'total' : '',
    isGauge && unit === '1' ? 'ratio' : '',
  ];
  let suffixed = name;
  for (const suffix of suffixes) {
    if (suffix !== '' && !suffixed.endsWith(suffix)) suffixed += `_${suffix}`;
  }
  return suffixed;
}

function unitWords(unit: string): { readonly main: string; readonly per: string } {
  const slash = unit.indexOf('/');
  const [main, per] = slash < 0 ? [unit, ''] : [unit.slice(0, slash), unit.slice(slash + 1)];
  return { main: unitWord(main, UNITS), per: unitWord(per, UNITS_PER) };
}

function unitWord(text: string, words: Readonly<Record<string, string>>): string {
  const unit = text.trim();
  if (unit.includes('{') || unit.includes('}')) return '';
  return Object.hasOwn(words, unit) ? words[unit] : partsOf(unit).join('_');
}

function partsOf(text: string): string[] {
  return text.split(NOT_ALPHANUMERIC).filter((part) => part !== '');
}
