import {
  isAllowed,
  isRequired,
  keyOf,
  seenBy,
  textOf,
  wordsOf,
  type History,
  type ReadRow,
  type ReadTime,
  type Version,
  type WriteRow,
} from './rows.js';

/**
 * Checks that each key exists once, and that each of its fields has the value of one of the newest versions: one that
 * no acknowledged version has certainly replaced, and no acknowledged deletion removed.
 * @returns what is wrong.
 */
export function checkVersions(
  rows: readonly ReadRow[],
  history: History,
  read: ReadTime,
  mode: 'last_row' | 'last_non_null',
): string | undefined {
  const versions = versionsByKey(history, read);
  const seen = new Set<string>();
  for (const row of rows) {
    const key = keyOf(row);
    if (seen.has(key)) return `${key} is there twice`;
    seen.add(key);
    const wrong = new KeyCheck(versions.get(key) ?? [], history, read).wrong(row, mode);
    if (wrong !== undefined) return `${textOf(row)}: ${wrong}`;
  }
  for (const [key, its] of versions) {
    if (seen.has(key)) continue;
    const lost = new KeyCheck(its, history, read).lost();
    if (lost !== undefined) return `row ${textOf(lost.row)} of ${wordsOf(lost.attempt)} is missing`;
  }
  return undefined;
}

function versionsByKey({ attempts }: History, read: ReadTime): Map<string, KeyVersion[]> {
  const versions = new Map<string, KeyVersion[]>();
  for (const attempt of attempts) {
    for (const row of attempt.rows) {
      const key = keyOf(row);
      const its = versions.get(key) ?? [];
      its.push({ attempt, row: seenBy(row, read), whole: row });
      versions.set(key, its);
    }
  }
  return versions;
}

/** A version, as a read sees it and as it was sent. */
interface KeyVersion extends Version {
  readonly whole: WriteRow;
}

/** The versions of one key that one read may see. */
class KeyCheck {
  readonly #allowed: readonly KeyVersion[];
  readonly #required: readonly KeyVersion[];

  constructor(versions: readonly KeyVersion[], history: History, read: ReadTime) {
    this.#allowed = versions.filter(({ attempt }) => isAllowed(attempt, history, read));
    this.#required = versions.filter((it) => isRequired(it, history, read));
  }

  /** Returns a version that must be visible, or replaced by a newer one, and that no deletion can have removed. */
  lost(): KeyVersion | undefined {
    return this.#required.find((it) => it.attempt.deletes === undefined && !this.#mayBeDeleted(it));
  }

  /** Returns whether the version, or one that may have replaced it, may have been deleted. */
  #mayBeDeleted({ attempt: { startMs } }: KeyVersion): boolean {
    const later = this.#allowed.filter(({ attempt }) => attempt.settledMs > startMs);
    return later.some(({ attempt: { deletes } }) => {
      return deletes !== undefined && later.some((it) => it.attempt.deletes === undefined && deletes(it.whole));
    });
  }

  wrong(row: ReadRow, mode: 'last_row' | 'last_non_null'): string | undefined {
    const names = new Set([...this.#allowed.flatMap((it) => Object.keys(it.row.fields)), ...Object.keys(row.fields)]);
    if (this.#newest(() => true).length === 0) return 'it is deleted';
    if (mode === 'last_row') {
      const isOne = this.#newest(() => true).some((it) => textOf(it.row) === textOf(row));
      return isOne ? undefined : `the newest version is not that, but ${this.#wordsOf(() => true)}`;
    }
    for (const name of names) {
      const wrong = this.#wrongField(name, row.fields[name]);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }

  #wrongField(name: string, value: number | undefined): string | undefined {
    const has = (it: KeyVersion): boolean => name in it.row.fields;
    if (value === undefined) {
      const isLost = this.#required.some((it) => has(it) && !this.#mayBeDeleted(it));
      return isLost ? `"${name}" is missing, it may be ${this.#wordsOf(has)}` : undefined;
    }
    if (this.#newest(has).some((it) => it.row.fields[name] === value)) return undefined;
    return `"${name}" may be ${this.#wordsOf(has)}`;
  }

  /** Returns versions that no other one has certainly replaced, and no deletion removed. */
  #newest(has: (version: KeyVersion) => boolean): KeyVersion[] {
    const later = this.#required.filter((it) => it.attempt.deletes !== undefined || has(it));
    return this.#allowed
      .filter((it) => it.attempt.deletes === undefined && has(it))
      .filter(({ attempt, whole }) => {
        return !later.some(({ attempt: { startMs, deletes } }) => {
          return startMs >= attempt.settledMs && (deletes?.(whole) ?? true);
        });
      });
  }

  #wordsOf(has: (version: KeyVersion) => boolean): string {
    return this.#newest(has)
      .map(({ attempt, row }) => `${textOf(row)} of ${wordsOf(attempt)}`)
      .join('; ');
  }
}
