import {
  NUMBER,
  isAllowed,
  isRequired,
  seenBy,
  textOf,
  wordsOf,
  type History,
  type ReadRow,
  type ReadTime,
} from './rows.js';

/**
 * Checks that each row of a table without versions exists once if it was acknowledged, and never twice.
 * @returns what is wrong.
 */
export function checkAppend(rows: readonly ReadRow[], history: History, read: ReadTime): string | undefined {
  const sent = new Map(
    history.attempts.flatMap((attempt) => attempt.rows.map((row) => [row.fields[NUMBER], { attempt, row }])),
  );
  const seen = new Set<number>();
  for (const row of rows) {
    const n = row.fields[NUMBER];
    const source = sent.get(n);
    if (source === undefined) return `row ${textOf(row)} was never sent`;
    const expected = textOf(seenBy(source.row, read));
    if (expected !== textOf(row)) return `row ${textOf(row)} of ${wordsOf(source.attempt)} was sent as ${expected}`;
    if (seen.has(n)) return `row ${textOf(row)} of ${wordsOf(source.attempt)} is there twice`;
    seen.add(n);
    if (!isAllowed(source.attempt, history, read)) {
      return `row ${textOf(row)} of ${wordsOf(source.attempt)} must not be there`;
    }
  }
  for (const attempt of history.attempts) {
    const lost = attempt.rows.find((row) => {
      return !seen.has(row.fields[NUMBER]) && isRequired({ attempt, row }, history, read);
    });
    if (lost !== undefined) return `row ${textOf(lost)} of ${wordsOf(attempt)} is missing`;
  }
  return undefined;
}
