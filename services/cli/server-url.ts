import { CommandFailure, EXIT } from './command.js';

/**
 * The URL of a server as the user wrote it; `127.0.0.1:4000` is taken for one of kind http.
 *
 * @throws `CommandFailure` of kind usage if it is none.
 */
export function serverUrl(host: string): string {
  const url = /^https?:\/\//.test(host) ? host : `http://${host}`;
  if (!URL.canParse(url)) throw new CommandFailure(EXIT.usage, `error: "${host}" is no URL of a server`);
  return url.replace(/\/+$/, '');
}
