import type { Environment } from '#shared/config/env';

/** Are colours wanted on this stream? Only on a terminal, unless the environment says otherwise. */
export function isColoured(stream: NodeJS.WriteStream, environment: Environment): boolean {
  const isSet = (name: string): boolean => (environment[name] ?? '') !== '';
  if (isSet('NO_COLOR') || environment['TERM'] === 'dumb') return false;
  return isSet('FORCE_COLOR') || stream.isTTY;
}
