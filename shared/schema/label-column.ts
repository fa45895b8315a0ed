/**
 * Names of labels as names of columns.
 *
 * Labels are exact, but the query engine folds the case of ASCII letters in names of columns. So each upper-case ASCII
 * letter `X` of a label is `^x` in the column's name, `^` is `^^`, and all else stays as it is.
 */
const ESCAPED_IN_LABEL = /[A-Z^]/g;
const ESCAPED_IN_COLUMN = /\^(.)/gsu;

/** The column of a label: `Zone` is `^zone`. */
export function columnOfLabel(label: string): string {
  return label.replace(ESCAPED_IN_LABEL, (found) => `^${found.toLowerCase()}`);
}

/** The label of a column: `^zone` is `Zone`. */
export function labelOfColumn(column: string): string {
  return column.replace(ESCAPED_IN_COLUMN, (_, found: string) => found.toUpperCase());
}
