import { LinearRegex } from '../linear-regex.js';
import type { Extraction } from '../syntax/ast.js';
import { logqlRuleError } from '../syntax/error.js';
import { JsonText, extractionPath, MalformedJson } from './json-text.js';
import type { LineStage, PipelineLine } from '../line/pipeline-line.js';
import { readLogfmt } from './logfmt.js';
import { PatternText } from './pattern-text.js';
import { labelName } from '../line/row-labels.js';

/** Compiles `| json`. @throws `invalid_syntax`. */
export function jsonStage(extractions: readonly Extraction[]): LineStage {
  if (extractions.length > 0) return jsonPaths(extractions);
  return (line) => {
    guarded(line, () => {
      const { labels } = line;
      new JsonText(line.text).members((path, value) => labels.extract(labelName(path.join('_')), value));
    });
    return true;
  };
}

function jsonPaths(extractions: readonly Extraction[]): LineStage {
  const paths = extractions.map(({ label, path }) => {
    const parsed = extractionPath(path);
    if (parsed === undefined) {
      throw logqlRuleError(`cannot parse expression [${path}]: syntax error: it is not a path such as a.b[0]["c"]`);
    }
    return { label, path: parsed };
  });
  return (line) => {
    guarded(line, () => {
      const text = new JsonText(line.text);
      for (const { label, path } of paths) {
        const value = text.at(path);
        if (value !== undefined) line.labels.extract(label, value);
      }
    });
    return true;
  };
}

/** Compiles `| unpack`, which restores what an agent packed. */
export function unpackStage(): LineStage {
  return (line) => {
    guarded(line, () => {
      let entry: string | undefined;
      new JsonText(line.text).members((path, value, isText) => {
        if (!isText || path.length > 1) return;
        if (path[0] === '_entry') entry = value;
        else line.labels.extract(labelName(path[0]), value);
      });
      if (entry !== undefined) line.text = entry;
    });
    return true;
  };
}

function guarded({ labels }: PipelineLine, parse: () => void): void {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof MalformedJson)) throw error;
    labels.fail('JSONParserErr', error.message);
  }
}

/** Compiles `| logfmt`. */
export function logfmtStage(
  extractions: readonly Extraction[],
  { isStrict, keepsEmpty }: { readonly isStrict: boolean; readonly keepsEmpty: boolean },
): LineStage {
  const labelsOf = new Map<string, string[]>();
  for (const { label, path } of extractions) labelsOf.set(path, [...(labelsOf.get(path) ?? []), label]);
  return ({ text, labels }) => {
    const error = readLogfmt(text, (key, value) => {
      if (value === '' && !keepsEmpty) return;
      if (extractions.length === 0) labels.extract(labelName(key), value);
      else for (const label of labelsOf.get(key) ?? []) labels.extract(label, value);
    });
    if (error !== undefined && isStrict) labels.fail('LogfmtParserErr', error.message);
    return true;
  };
}

/** Compiles `| pattern`. @throws `invalid_syntax`. */
export function patternStage(text: string): LineStage {
  const pattern = new PatternText(text);
  return ({ text: line, labels }) => {
    pattern.captures(line, (name, value) => labels.extract(name, value));
    return true;
  };
}

/** Compiles `| regexp`. @throws `invalid_syntax`. */
export function regexpStage(text: string): LineStage {
  const regex = new LinearRegex(text);
  const groups = [...regex.groupNames];
  if (groups.length === 0) throw logqlRuleError('at least one named capture must be supplied');
  return ({ text: line, labels }) => {
    const match = regex.find(line);
    if (match !== undefined) {
      for (const [name, index] of groups) {
        const value = match.group(index);
        if (value !== null) labels.extract(labelName(name), value);
      }
    }
    return true;
  };
}
