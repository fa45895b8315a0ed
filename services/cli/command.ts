import type { Command } from 'commander';

import type { Environment } from '#shared/config/env';

/** Exit codes of the program. */
export const EXIT = { done: 0, failed: 1, usage: 2, notReady: 3, refused: 4 } as const;
/** One of the exit codes. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What a command may use of the process. */
export interface CommandContext {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly environment: Environment;
  /** Sets the exit code; the process exits when no work is left. */
  readonly finish: (code: ExitCode) => void;
}

/** One command of the program: registers itself with the parent. */
export interface CliCommand {
  readonly name: string;
  readonly define: (parent: Command, context: CommandContext) => void;
}

/** Fails a command; the text is written to standard error. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
