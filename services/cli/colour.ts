import type { Environment } from '#shared/config/env';

/** Returns whether a stream should be coloured: only terminals are, unless the environment overrides it. */
export function isColoured(stream: NodeJS.WriteStream, environment: Environment): boolean {
  const isSet = (name: string): boolean => (environment[name] ?? '') !== '';
  if (isSet('NO_COLOR') || environment['TERM'] === 'dumb') return false;
  return isSet('FORCE_COLOR') || stream.isTTY;
}
