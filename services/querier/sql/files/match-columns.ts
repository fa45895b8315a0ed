/**
 * Finds the columns of a table in a file: by the same name, otherwise by one that differs in letter case only.
 *
 * @param found names of the file.
 * @returns the names in the file, by the table's names.
 */
export function matchColumns(
  columns: readonly { readonly name: string }[],
  found: readonly string[],
): Map<string, string> {
  const names = new Set(found);
  const matched = new Map<string, string>();
  for (const { name } of columns) if (names.delete(name)) matched.set(name, name);
  for (const { name } of columns) {
    if (matched.has(name)) continue;
    const folded = name.toLowerCase();
    const alike = [...names].find((candidate) => candidate.toLowerCase() === folded);
    if (alike === undefined) continue;
    names.delete(alike);
    matched.set(name, alike);
  }
  return matched;
}
