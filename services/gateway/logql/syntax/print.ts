import { durationText, goFloatText } from '../units.js';
import type {
  LabelAssignment,
  LabelChoice,
  ParserStage,
  Grouping,
  LabelCondition,
  LogMatcher,
  LogqlQuery,
  LogQuery,
  PipelineStage,
  Unwrap,
  SideMatching,
} from './ast.js';

/** Prints a query in its canonical form. */
export function printLogql(query: LogqlQuery): string {
  switch (query.kind) {
    case 'log':
      return logText(query);
    case 'number':
      return goFloatText(query.value);
    case 'vector':
      return `vector(${goFloatText(query.value)})`;
    case 'label_replace': {
      const texts = [query.target, query.replacement, query.source, query.pattern].map(quoted);
      return `label_replace(${printLogql(query.inner)}, ${texts.join(', ')})`;
    }
    case 'binary': {
      const words = [query.op, query.returnsBool ? 'bool' : '', matchingText(query.matching)].filter((it) => it !== '');
      return `(${printLogql(query.left)} ${words.join(' ')} ${printLogql(query.right)})`;
    }
    case 'vector_aggregation': {
      const parameter = query.parameter === undefined ? '' : `${goFloatText(query.parameter)}, `;
      return `${query.fn}${groupingText(query.grouping, ' ')}(${parameter}${printLogql(query.inner)})`;
    }
    case 'range_aggregation': {
      const parameter = query.parameter === undefined ? '' : `${goFloatText(query.parameter)}, `;
      const offset = query.offsetNs === 0n ? '' : ` offset ${durationText(query.offsetNs)}`;
      const lines = logText(query.query) + unwrapText(query.unwrap);
      return `${query.fn}(${parameter}${lines} [${durationText(query.rangeNs)}]${offset})${groupingText(query.grouping, ' ')}`;
    }
  }
}

/** Prints matchers as a selector. */
function streamSelectorText(matchers: readonly LogMatcher[]): string {
  return `{${matchers.map(matcherText).join(', ')}}`;
}

function logText({ matchers, stages }: LogQuery): string {
  return [streamSelectorText(matchers), ...stages.map(stageText)].join(' ');
}

function stageText(stage: PipelineStage): string {
  switch (stage.kind) {
    case 'line_filter':
      return `${stage.op} ${stage.texts.map(quoted).join(' or ')}`;
    case 'json':
    case 'logfmt':
      return parserText(stage);
    case 'pattern':
    case 'regexp':
      return `| ${stage.kind} ${quoted(stage.text)}`;
    case 'label_filter':
      return `| ${conditionText(stage.condition)}`;
    case 'line_format':
      return `| line_format ${quoted(stage.template)}`;
    case 'label_format':
      return `| label_format ${stage.assignments.map(assignmentText).join(', ')}`;
    case 'drop':
    case 'keep':
      return `| ${stage.kind} ${stage.labels.map(choiceText).join(', ')}`;
    case 'unpack':
    case 'decolorize':
      return `| ${stage.kind}`;
  }
}

function conditionText(condition: LabelCondition): string {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return `( ${conditionText(condition.left)} ${condition.kind} ${conditionText(condition.right)} )`;
    case 'text':
      return matcherText(condition.matcher);
    default:
      return `${condition.name} ${condition.op} ${condition.text}`;
  }
}

function unwrapText(unwrap: Unwrap | undefined): string {
  if (unwrap === undefined) return '';
  const label = unwrap.conversion === '' ? unwrap.label : `${unwrap.conversion}(${unwrap.label})`;
  return ` | unwrap ${label}${unwrap.filters.map((filter) => ` ${stageText(filter)}`).join('')}`;
}

function groupingText(grouping: Grouping | undefined, before: string): string {
  if (grouping === undefined) return '';
  return `${before}${grouping.isWithout ? 'without' : 'by'} (${grouping.labels.join(', ')})`;
}

function matchingText(matching: SideMatching | undefined): string {
  if (matching === undefined) return '';
  const { isOn, labels, group, include } = matching;
  const on = `${isOn ? 'on' : 'ignoring'} (${labels.join(', ')})`;
  return group === undefined ? on : `${on} group_${group} (${include.join(', ')})`;
}

function matcherText({ name, op, value }: LogMatcher): string {
  return `${name}${op}${quoted(value)}`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function assignmentText({ name, from }: LabelAssignment): string {
  return `${name}=${'label' in from ? from.label : quoted(from.template)}`;
}

function choiceText({ name, matcher }: LabelChoice): string {
  return matcher === undefined ? name : matcherText(matcher);
}

function parserText({ kind, extractions, isStrict, keepsEmpty }: ParserStage): string {
  const strict = kind === 'logfmt' && isStrict ? ' --strict' : '';
  const empty = keepsEmpty ? ' --keep-empty' : '';
  const list = extractions.map(({ label, path }) => `${label}=${quoted(path)}`).join(', ');
  return `| ${kind}${strict}${empty}${list === '' ? '' : ` ${list}`}`;
}
