/** Returns a duration with three significant digits, in the unit that suits it. @param us microseconds. */
export function microsecondText(us: number): string {
  const size = Math.abs(us);
  if (size < 1000) return `${us} µs`;
  if (size < 1_000_000) return `${significant(us / 1000)} ms`;
  if (size < 60_000_000) return `${significant(us / 1_000_000)} s`;
  const seconds = Math.round(us / 1_000_000);
  if (size < 3_600_000_000) return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, '0')}s`;
  return `${Math.floor(seconds / 3600)}h ${String(Math.floor(seconds / 60) % 60).padStart(2, '0')}m`;
}

function significant(value: number): string {
  return String(Number(value.toPrecision(3)));
}
