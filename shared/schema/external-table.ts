/** Options of an external table, whose rows are in files; only such a table has a location. */
export const EXTERNAL_LOCATION = 'location';

/** Returns whether the rows of a table are in files that it only names. Nothing can be written to it. */
export function isExternal({ options }: { readonly options: Readonly<Record<string, string>> }): boolean {
  return EXTERNAL_LOCATION in options;
}
