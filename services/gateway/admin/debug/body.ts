import type { Call } from '#shared/contracts/call';

import type { RequestContext } from '../../request-context.js';
import type { AdminDeps } from '../endpoint.js';

/** Reads the body of a request, whatever its type, and frees it when `use` is done. */
export async function withBody<T>(
  context: RequestContext,
  { bodies }: AdminDeps,
  call: Call,
  use: (bytes: Buffer) => Promise<T> | T,
): Promise<T> {
  const body = await bodies.read(context.request, { encodings: ['gzip', 'deflate', 'br', 'zstd'] }, call);
  try {
    return await use(body.bytes);
  } finally {
    body.release();
  }
}
