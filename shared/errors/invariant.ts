/** A broken invariant: a bug of ours, never the caller's fault. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** An assertion that is always on. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}
