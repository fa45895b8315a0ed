/** Returns the candidate with the smallest edit distance to `name`, or undefined if all differ by more than a third. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(name, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns `; did you mean "x"?`, or an empty text if no candidate is close. */
export function suggestion(name: string, candidates: readonly string[]): string {
  const found = nearest(name, candidates);
  return found === undefined ? '' : `; did you mean "${found}"?`;
}

/** Levenshtein distance, computed row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let k = 1; k <= b.length; k++) {
      const change = row[k - 1] + (a[i - 1] === b[k - 1] ? 0 : 1);
      next.push(Math.min(change, row[k] + 1, next[k - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}
