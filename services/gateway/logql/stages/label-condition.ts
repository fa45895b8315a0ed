import { LinearRegex } from '../linear-regex.js';
import type { CompareOp, LabelCondition, LogMatcher } from '../syntax/ast.js';
import { byteCount, durationSeconds, goFloat } from '../units.js';
import type { RowLabels } from '../line/row-labels.js';

/** Whether the labels of a line pass; a value that is not a number is noted as an error, and passes. */
export type RowTest = (labels: RowLabels) => boolean;

/** Compiles the test of a text, for all matchers. @throws `invalid_syntax` for a malformed regular expression. */
export function textTest({ op, value }: Pick<LogMatcher, 'op' | 'value'>): (text: string) => boolean {
  if (op === '=') return (text) => text === value;
  if (op === '!=') return (text) => text !== value;
  const regex = new LinearRegex(value, true);
  return op === '=~' ? (text) => regex.test(text) : (text) => !regex.test(text);
}

/** Compiles a condition. @throws `invalid_syntax`. */
export function compileLabelCondition(condition: LabelCondition): RowTest {
  switch (condition.kind) {
    case 'and': {
      const [left, right] = [compileLabelCondition(condition.left), compileLabelCondition(condition.right)];
      return (labels) => left(labels) && right(labels);
    }
    case 'or': {
      const [left, right] = [compileLabelCondition(condition.left), compileLabelCondition(condition.right)];
      return (labels) => left(labels) || right(labels);
    }
    case 'text': {
      const test = textTest(condition.matcher);
      return (labels) => test(labels.get(condition.matcher.name));
    }
    default:
      return numberTest(condition, PARSERS[condition.kind]);
  }
}

const PARSERS = { number: goFloat, duration: durationSeconds, bytes: byteCount };
const COMPARISONS: Readonly<Record<CompareOp, (a: number, b: number) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
};

function numberTest(
  { name, op, value }: { readonly name: string; readonly op: CompareOp; readonly value: number },
  parse: (text: string) => number | undefined,
): RowTest {
  const compare = COMPARISONS[op];
  return (labels) => {
    // A line that has an error already is not filtered, so that the error is seen.
    if (labels.error !== '') return true;
    const text = labels.find(name);
    if (text === undefined) return false;
    const number = parse(text);
    if (number === undefined) {
      labels.fail('LabelFilterErr', `cannot convert the value of label "${name}" to a number: ${JSON.stringify(text)}`);
      return true;
    }
    return compare(number, value);
  };
}
