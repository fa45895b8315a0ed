import { LinearRegex } from '../linear-regex.js';
import type { LineFilterStage } from '../syntax/ast.js';
import type { LineStage } from '../line/pipeline-line.js';
import { PatternText } from './pattern-text.js';

/** Compiles a line filter. @throws `invalid_syntax`. */
export function lineFilter({ op, texts }: LineFilterStage): LineStage {
  const tests = texts.map((text) => testOf(op, text));
  const isNegated = op.startsWith('!');
  return ({ text }) => tests.some((test) => test(text)) !== isNegated;
}

function testOf(op: LineFilterStage['op'], text: string): (line: string) => boolean {
  if (op === '|=' || op === '!=') return (line) => line.includes(text);
  if (op === '|~' || op === '!~') {
    const regex = new LinearRegex(text);
    return (line) => regex.test(line);
  }
  const pattern = new PatternText(text, true);
  return (line) => pattern.test(line);
}
