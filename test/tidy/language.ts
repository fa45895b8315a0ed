import ts from 'typescript';

/** A phrase of the former house dialect: the pattern that finds it, and what to write instead. */
interface Phrase {
  readonly pattern: RegExp;
  readonly instead: string;
}

/** A place in a file whose text breaks a rule. */
export interface Finding {
  readonly line: number;
  readonly text: string;
  readonly instead: string;
}

const phrase = (pattern: string, instead: string): Phrase => ({
  pattern: new RegExp(`\\b(${pattern})\\b`, 'i'),
  instead,
});

/** The words that `CONTRIBUTING.md` rules out, each with its replacement. */
const PHRASES: readonly Phrase[] = [
  phrase('anew', 'again, from scratch, rebuilt'),
  phrase('so (many|much|long|often|big|late)(?! (as|that))', 'the number itself: "at most N", "this many"'),
  phrase(
    '(tell|tells|told|telling) (of|apart|more|whether|what|how|which|that|it|them)',
    'reports, returns, distinguishes',
  ),
  phrase('told', 'reported, passed'),
  phrase('(is|are|was|were|be|been|being) asked', 'is called, is requested'),
  phrase('asks?', 'requests, calls, checks'),
  phrase('asked', 'requested, called, checked'),
  phrase('question(s)?', 'query, statement'),
  phrase('parted', 'separated'),
  phrase('aside', 'in a worker thread; apart from'),
  phrase('(nobody|somebody|whoever|everybody)', 'no client, no process; the one that'),
  phrase(
    'behind(?! (a|the|its|your|an?other|nginx|one)? ?(reverse )?(proxy|proxies|firewall|balancer|load balancer|path prefix))',
    'after, later than; caused by',
  ),
  phrase(
    '(stands?|stood|standing) (in|on|at|there|beside|above|below|under|before|behind|after|by)',
    'is stored in, is located in, means',
  ),
  phrase('(lies?|lay|lying) (in|at|on|between|beyond|there|before|after)', 'is in, is stored in'),
  phrase('(gives?|given|giving|gave) (back|away|up on|way)', 'releases, returns'),
  phrase('(takes?|took|taken|taking) (back|over)', 'becomes the owner of, inherits'),
  phrase('(knows?|knew) no', 'does not support, has no'),
  phrase('(not|un)?spoken', 'supported'),
  phrase('lately', 'recently'),
  phrase('for ever', 'forever'),
  phrase('(thereof|therein|whereby|wherein|hereby|henceforth|thence|hence)', 'a plain sentence'),
  phrase('(come|comes|came|coming) late', 'is out of order, arrives late'),
  phrase('(wish|wishes|wished)', 'request, requires'),
  phrase('pieces?(?! of (advice|text|code|data))', 'chunk, slice, batch, run'),
  phrase('forgets?|forgot|forgotten', 'removes, deletes, drops'),
  phrase('(is|are|was|were) over(?= (when|before|at|if|by))', 'ends'),
  phrase('at the most', 'at most'),
  phrase('looked after', 'managed'),
  phrase('(so|that) (is|was) (that|what) it (is|was)', 'a plain sentence'),
  phrase('goes on', 'continues'),
  phrase('go on', 'continue'),
];

/** Texts that people read in a TypeScript file: comments, string literals and the fixed parts of templates. */
function readableTexts(path: string, source: string): readonly { readonly start: number; readonly text: string }[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const found: { start: number; text: string }[] = [];
  const commentsSeen = new Set<number>();
  const addComments = (ranges: readonly ts.CommentRange[] | undefined): void => {
    for (const { pos, end } of ranges ?? []) {
      if (commentsSeen.has(pos)) continue;
      commentsSeen.add(pos);
      found.push({ start: pos, text: source.slice(pos, end) });
    }
  };
  const visit = (node: ts.Node): void => {
    addComments(ts.getLeadingCommentRanges(source, node.getFullStart()));
    addComments(ts.getTrailingCommentRanges(source, node.getEnd()));
    const isText = ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateHead(node);
    if (ts.isJsxText(node)) found.push({ start: node.getStart(), text: node.text });
    const isTemplatePart = ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
    if ((isText || isTemplatePart) && !ts.isImportDeclaration(node.parent)) {
      found.push({ start: node.getStart(), text: node.text });
    }
    node.forEachChild(visit);
  };
  visit(file);
  addComments(ts.getLeadingCommentRanges(source, file.endOfFileToken.getFullStart()));
  return found;
}

function lineOf(source: string, offset: number): number {
  let line = 1;
  for (let at = source.indexOf('\n'); at >= 0 && at < offset; at = source.indexOf('\n', at + 1)) line++;
  return line;
}

/** Finds dialect phrases in the prose of a TypeScript file, or in a whole file of another kind. */
export function findDialect(path: string, source: string): readonly Finding[] {
  const texts = /\.tsx?$/.test(path) ? readableTexts(path, source) : [{ start: 0, text: source }];
  const findings: Finding[] = [];
  for (const { start, text } of texts) {
    for (const { pattern, instead } of PHRASES) {
      for (const match of text.matchAll(new RegExp(pattern.source, 'gi'))) {
        findings.push({ line: lineOf(source, start + match.index), text: match[0], instead });
      }
    }
  }
  return findings;
}
