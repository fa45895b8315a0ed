import type { LogFields, Logger } from '#shared/telemetry/log';

import type { Life } from './life.js';
import type { Scheduler } from './scheduler.js';

/** Returns a process's log, which writes to the trace. */
export function nodeLog(life: Life, scheduler: Scheduler): Logger {
  const note = (level: string) => (fields: LogFields, message: string) => {
    if (!life.isDead) scheduler.note(`${life.name} ${level} ${message} ${textOf(fields)}`);
  };
  const log: Logger = {
    error: note('error'),
    warn: note('warn'),
    info: note('info'),
    debug: () => undefined,
    trace: () => undefined,
    isEnabled: () => true,
    child: () => log,
  };
  return log;
}

function textOf(fields: LogFields): string {
  return JSON.stringify(fields, (_key, value: unknown) => {
    if (value instanceof Error) return value.message;
    return typeof value === 'bigint' ? String(value) : value;
  });
}
