/** Returns a name as SQL, in quotes. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns a text as SQL, in quotes. */
export function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
