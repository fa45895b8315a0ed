const COLOURS: Readonly<Record<string, number>> = { error: 31, warn: 33, info: 32, debug: 36, trace: 90 };

interface JsonLine extends Readonly<Record<string, unknown>> {
  readonly time: string;
  readonly level: string;
  readonly component: string;
  readonly msg?: string;
}

/**
 * Formats one JSON log line for people:
 * `2026-01-02T03:04:05.678Z INFO  gateway.http: listening url=http://127.0.0.1:4000`.
 */
export function formatLogLine(json: string, coloured: boolean): string {
  const { time, level, component, msg, error, ...fields } = JSON.parse(json) as JsonLine;
  const name = level.toUpperCase().padEnd(5);
  const shownLevel = coloured ? `\u001b[${COLOURS[level] ?? 0}m${name}\u001b[0m` : name;
  const shownFields = Object.entries(fields).map(([key, value]) => ` ${key}=${shownValue(value)}`);
  return `${time} ${shownLevel} ${component}: ${msg ?? ''}${shownFields.join('')}${shownError(error)}\n`;
}

/** Returns a value as it is where that is unambiguous, and in quotes otherwise. */
function shownValue(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return value;
  return JSON.stringify(value);
}

function shownError(error: unknown): string {
  if (error === undefined) return '';
  const { stack, message } = error as { readonly stack?: string; readonly message?: string };
  return `\n    ${(stack ?? message ?? JSON.stringify(error)).replaceAll('\n', '\n    ')}`;
}
