/** Splits headers of the form `name=value`. */
export function headersOf(items: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    items.map((item) => {
      const end = item.indexOf('=');
      return [item.slice(0, end), item.slice(end + 1)];
    }),
  );
}
