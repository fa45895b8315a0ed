/** Whether the bytes `[from, to)` are `expected`; for short ones several times as fast as `Buffer.equals` of a view. */
export function hasBytes(bytes: Uint8Array, from: number, to: number, expected: Uint8Array): boolean {
  if (to - from !== expected.length) return false;
  for (let i = 0; i < expected.length; i++) if (bytes[from + i] !== expected[i]) return false;
  return true;
}
