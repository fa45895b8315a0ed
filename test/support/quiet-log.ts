import type { LogFields, Logger } from '#shared/telemetry/log';

/** A log that keeps its lines for the test to look at. */
export class KeptLog implements Logger {
  readonly lines: { level: string; message: string; fields: LogFields }[] = [];

  error(fields: LogFields, message: string): void {
    this.lines.push({ level: 'error', message, fields });
  }
  warn(fields: LogFields, message: string): void {
    this.lines.push({ level: 'warn', message, fields });
  }
  info(fields: LogFields, message: string): void {
    this.lines.push({ level: 'info', message, fields });
  }
  debug(): void {
    // Not kept.
  }
  trace(): void {
    // Not kept.
  }
  isEnabled(): boolean {
    return true;
  }
  child(): Logger {
    return this;
  }

  messages(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }
}
