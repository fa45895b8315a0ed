/** A line of a comparison: in both texts, only in the old one, or only in the new one. */
export interface ComparedLine {
  readonly change: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Comparing takes the product of both numbers of lines. */
const LINES_MAX = 3000;

/** Compares texts line by line by their longest common subsequence; long ones are shown as wholly replaced. */
export function compareLines(before: string, after: string): readonly ComparedLine[] {
  const [old, recent] = [before.split('\n'), after.split('\n')];
  const removed = old.map((text): ComparedLine => ({ change: 'removed', text }));
  const added = recent.map((text): ComparedLine => ({ change: 'added', text }));
  if (old.length > LINES_MAX || recent.length > LINES_MAX) return [...removed, ...added];
  const width = recent.length + 1;
  // Length of the longest common subsequence of the rest of both, from each pair of lines.
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = recent.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] = old[i] === recent[j] ? lengths[at + width + 1] + 1 : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  const lines: ComparedLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < recent.length) {
    if (old[i] === recent[j]) {
      lines.push({ change: 'same', text: old[i] });
      [i, j] = [i + 1, j + 1];
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) lines.push(removed[i++]);
    else lines.push(added[j++]);
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}
