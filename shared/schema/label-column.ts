/**
 * Label names as column names.
 *
 * Labels are exact, but the query engine folds the case of ASCII letters in column names. Therefore each upper-case ASCII
 * letter `X` of a label becomes `^x` in the column's name, `^` becomes `^^`, and everything else stays unchanged.
 */
const ESCAPED_IN_LABEL = /[A-Z^]/g;
const ESCAPED_IN_COLUMN = /\^(.)/gsu;

/** Returns the column of a label: `^zone` for `Zone`. */
export function columnOfLabel(label: string): string {
  return label.replace(ESCAPED_IN_LABEL, (found) => `^${found.toLowerCase()}`);
}

/** Returns the label of a column: `Zone` for `^zone`. */
export function labelOfColumn(column: string): string {
  return column.replace(ESCAPED_IN_COLUMN, (_, found: string) => found.toUpperCase());
}
