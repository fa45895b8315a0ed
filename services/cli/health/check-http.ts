import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';

import { TimeoutReached } from './timeout.js';

/** Returns why the server at a URL is not ready; undefined if it is. */
export function checkHttp(url: string, timeoutMs: number): Promise<string | undefined> {
  const get = url.startsWith('https:') ? getSecure : getPlain;
  return new Promise((resolve) => {
    const request = get(new URL('/ready', url), { timeout: timeoutMs }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => (body += text));
      response.on('error', (error) => resolve(error.message));
      response.on('end', () =>
        resolve(response.statusCode === 200 ? undefined : `${response.statusCode} ${body.trim()}`),
      );
    });
    request.on('timeout', () => request.destroy(new TimeoutReached(timeoutMs)));
    request.on('error', (error: NodeJS.ErrnoException) => resolve(`${url}: ${error.code ?? error.message}`));
  });
}
