import { CommandFailure, EXIT } from './command.js';

/**
 * Parses the URL of a server; without a scheme, as in `127.0.0.1:4000`, it is http.
 *
 * @throws `CommandFailure` with the usage exit code if it is invalid.
 */
export function serverUrl(host: string): string {
  const url = /^https?:\/\//.test(host) ? host : `http://${host}`;
  if (!URL.canParse(url)) throw new CommandFailure(EXIT.usage, `error: "${host}" is not a server URL`);
  return url.replace(/\/+$/, '');
}
