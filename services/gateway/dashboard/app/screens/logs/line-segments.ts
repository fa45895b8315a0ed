import type { SearchNode } from './search/search.js';

/** A run of a line that is drawn in one way. */
export interface LineSegment {
  readonly text: string;
  /** Whether the search found it. */
  readonly isMarked: boolean;
  /** Classes for the colours that terminals have. */
  readonly classes: string;
  /** An address that the text is, of http or https. */
  readonly link: string | undefined;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

const ESCAPE = '\u001b';
const URL_PATTERN = /\bhttps?:\/\/[^\s"'<>()[\]{}\\]+[^\s"'<>()[\]{}\\.,;:!?]/g;
const MARKS_MAX = 500;
const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** Returns patterns of what a search must find in the line, to mark it. */
export function markPatterns(node: SearchNode | undefined, lineColumn: string): RegExp[] {
  if (node === undefined) return [];
  switch (node.kind) {
    case 'words':
      return node.text === '' ? [] : [new RegExp(`(?<![\\p{L}\\p{N}])${escaped(node.text)}(?![\\p{L}\\p{N}])`, 'giu')];
    case 'field':
      return node.name === lineColumn && node.operator === '~' ? regexOf(node.value) : [];
    case 'not':
      return [];
    default:
      return node.of.flatMap((part) => markPatterns(part, lineColumn));
  }
}

function regexOf(text: string): RegExp[] {
  try {
    const isInsensitive = text.startsWith('(?i)');
    return [new RegExp(isInsensitive ? text.slice(4) : text, isInsensitive ? 'giu' : 'gu')];
  } catch {
    // The server's syntax has parts that the browser's does not have.
    return [];
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/** Divides a line into runs: colours of terminals, marks and links. Other control characters become visible symbols. */
export function lineSegments(line: string, marks: readonly RegExp[]): LineSegment[] {
  const runs = colourRuns(line);
  const text = runs.map((run) => run.text).join('');
  const marked = merged(marks.flatMap((pattern) => spansOf(text, pattern)));
  const links = spansOf(text, URL_PATTERN);
  const cuts = new Set([0, text.length]);
  for (const { from, to } of [...marked, ...links]) cuts.add(from).add(to);
  let end = 0;
  for (const run of runs) cuts.add((end += run.text.length));
  const sorted = [...cuts].sort((a, b) => a - b);
  const segments: LineSegment[] = [];
  let [run, runEnd] = [0, runs[0]?.text.length ?? 0];
  for (let i = 1; i < sorted.length; i++) {
    const [from, to] = [sorted[i - 1], sorted[i]];
    while (from >= runEnd && run < runs.length - 1) runEnd += runs[++run].text.length;
    const link = links.find((span) => span.from <= from && to <= span.to);
    segments.push({
      text: visibleText(text.slice(from, to)),
      isMarked: marked.some((span) => span.from <= from && to <= span.to),
      classes: runs[run].classes,
      link: link === undefined ? undefined : text.slice(link.from, link.to),
    });
  }
  return segments;
}

function spansOf(text: string, pattern: RegExp): Span[] {
  const spans: Span[] = [];
  for (const match of text.matchAll(pattern)) {
    if (match[0] !== '') spans.push({ from: match.index, to: match.index + match[0].length });
    if (spans.length === MARKS_MAX) break;
  }
  return spans;
}

/** Joins spans that overlap. */
function merged(spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last !== undefined && span.from <= last.to) {
      joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
    } else joined.push(span);
  }
  return joined;
}

/** Returns the text without the escape sequences of terminals, and the colours that they set. */
function colourRuns(line: string): { text: string; classes: string }[] {
  if (!line.includes(ESCAPE)) return [{ text: line, classes: '' }];
  const runs: { text: string; classes: string }[] = [];
  let [at, colour, isBold] = [0, '', false];
  const add = (to: number): void => {
    const classes = `${colour}${isBold ? ' ansi-bold' : ''}`.trim();
    if (to > at) runs.push({ text: line.slice(at, to), classes });
  };
  for (const match of line.matchAll(/\u001b\[([\d;]*)([A-Za-z])/g)) {
    add(match.index);
    at = match.index + match[0].length;
    if (match[2] !== 'm') continue;
    for (const code of match[1].split(';').map(Number)) {
      if (code === 0) [colour, isBold] = ['', false];
      else if (code === 1) isBold = true;
      else if (code === 22) isBold = false;
      else if (code === 39) colour = '';
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) colour = `ansi-${COLOURS[code % 10]}`;
    }
  }
  add(line.length);
  return runs.length === 0 ? [{ text: '', classes: '' }] : runs;
}

/** Returns a text whose control characters, except for tabs and ends of lines, are symbols. */
export function visibleText(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, (unit) =>
    unit === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + unit.charCodeAt(0)),
  );
}
