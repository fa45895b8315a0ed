/** Quotes text as a SQL string literal. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Quotes a name as a SQL identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
