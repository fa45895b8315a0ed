/** Returns the path of a line through values over time, drawn in a box; empty if there are fewer than two. */
export function sparkPath(
  points: readonly { readonly atMs: number; readonly value: number }[],
  widthPx: number,
  heightPx: number,
): string {
  if (points.length < 2) return '';
  const [first, last] = [points[0].atMs, points[points.length - 1].atMs];
  const largest = Math.max(...points.map(({ value }) => value), Number.MIN_VALUE);
  const spanMs = Math.max(1, last - first);
  return points
    .map(({ atMs, value }, i) => {
      const x = ((atMs - first) / spanMs) * widthPx;
      // One pixel is left on both sides for the width of the line.
      const y = 1 + (1 - value / largest) * (heightPx - 2);
      return `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join('');
}
