import { requestProblem, httpRequest } from '../http-request.js';
import type { ServerTarget } from '../server-target.js';

/** Returns why a server is not ready; undefined if it is. */
export async function checkHttp({ url, trust }: ServerTarget, timeoutMs: number): Promise<string | undefined> {
  try {
    const { status, text } = await httpRequest(new URL('/ready', url), { method: 'GET', trust, timeoutMs });
    return status === 200 ? undefined : `${status} ${text.trim()}`;
  } catch (error) {
    return `${url}: ${requestProblem(error, url)}`;
  }
}
