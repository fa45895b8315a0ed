/** A condition on a label of a metric. */
export interface LabelFilter {
  readonly label: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

const PLAIN_LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const PLAIN_METRIC = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const FILTER = /^\s*(?:([a-zA-Z_][a-zA-Z0-9_]*)|("(?:[^"\\]|\\.)*"))\s*(=|!=)\s*("(?:[^"\\]|\\.)*")\s*(?:,|$)/;

/** Returns filters as matchers of PromQL, as the address has them: `job="node", instance!="a"`. */
export function filtersText(filters: readonly LabelFilter[]): string {
  return filters.map(({ label, operator, value }) => nameText(label) + operator + quoted(value)).join(', ');
}

/** Reads filters; undefined if the text is none. */
export function parseFilters(text: string): readonly LabelFilter[] | undefined {
  const filters: LabelFilter[] = [];
  for (let rest = text; rest.trim() !== '';) {
    const match = FILTER.exec(rest);
    if (match === null) return undefined;
    const [whole, plain, quotedLabel, operator, value] = match;
    const label = plain ?? unquoted(quotedLabel);
    const parsed = unquoted(value);
    if (label === undefined || parsed === undefined) return undefined;
    filters.push({ label, operator: operator as LabelFilter['operator'], value: parsed });
    rest = rest.slice(whole.length);
  }
  return filters;
}

/** Returns filters with another one, which replaces those that it contradicts or repeats. */
export function withFilter(filters: readonly LabelFilter[], added: LabelFilter): readonly LabelFilter[] {
  const isReplaced = ({ label, operator, value }: LabelFilter): boolean => {
    if (label !== added.label) return false;
    return added.operator === '=' || operator === '=' || value === added.value;
  };
  return [...filters.filter((filter) => !isReplaced(filter)), added];
}

/** Returns a selector of PromQL. Names that are not plain are quoted within the braces. */
export function selectorText(metric: string, filters: readonly LabelFilter[]): string {
  const matchers = filtersText(filters);
  if (PLAIN_METRIC.test(metric)) return matchers === '' ? metric : `${metric}{${matchers}}`;
  return `{${[quoted(metric), ...(matchers === '' ? [] : [matchers])].join(', ')}}`;
}

/** Returns the name of a label as PromQL reads it. */
export function nameText(label: string): string {
  return PLAIN_LABEL.test(label) ? label : quoted(label);
}

/** Strings of PromQL have the escapes of JSON, but no lone surrogates. */
function quoted(text: string): string {
  return JSON.stringify(text.replace(/\p{Surrogate}/gu, '\ufffd'));
}

function unquoted(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}
