// The package has no types of its own.
declare module 'splunk-logging' {
  interface SplunkEvent {
    readonly message: unknown;
    readonly severity?: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
  }

  export class Logger {
    constructor(options: Readonly<Record<string, unknown>>);
    error: (error: Error) => void;
    send(event: SplunkEvent): void;
    flush(callback: (error: Error | null | undefined, response: unknown, body: unknown) => void): void;
  }
}
