/** What a reply says about the lines of a request. */
export interface LineReport {
  /** Numbers from 1 of the lines that were not stored, with the reason. */
  readonly rejected: ReadonlyMap<number, string>;
  /** Reasons that belong to no line that could be found. */
  readonly others: readonly string[];
}

/** Finds the lines that a partial write left out, by the text that the reply repeats. */
export function rejectedLines(lines: string, message: string): LineReport {
  const texts = lines.split('\n').map((line) => line.trim());
  const rejected = new Map<number, string>();
  const others: string[] = [];
  for (const part of message
    .replace(/^partial write: /, '')
    .replace(/ dropped=\d+$/, '')
    .split('\n')) {
    const quoted = /^unable to parse '(.*)': (.*)$/.exec(part);
    const at = quoted === null ? -1 : texts.findIndex((text, i) => text === quoted[1] && !rejected.has(i + 1));
    if (quoted === null || at < 0) others.push(part);
    else rejected.set(at + 1, quoted[2]);
  }
  return { rejected, others: others.filter((text) => text !== '') };
}
