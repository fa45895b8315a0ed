import type { Command } from 'commander';

import type { Environment } from '#shared/config/env';

export const EXIT = { done: 0, failed: 1, usage: 2, notReady: 3, refused: 4 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What a command may touch of the process around it. */
export interface CommandContext {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly environment: Environment;
  /** Notes how the command ended; the process exits with the code when nothing is left to do. */
  readonly finish: (code: ExitCode) => void;
}

/** One command of the program: adds itself to the parent. */
export interface CliCommand {
  readonly name: string;
  readonly define: (parent: Command, context: CommandContext) => void;
}

/** Ends a command; the text goes to standard error. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
