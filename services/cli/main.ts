import { Command, CommanderError } from 'commander';

import { processEnvironment } from '#shared/config/env';
import { AlmanacError } from '#shared/errors/almanac-error';

import { CommandFailure, EXIT, type CommandContext, type ExitCode } from './command.js';
import { COMMANDS } from './commands/registry.js';
import { versionText } from './version-text.js';

const HELP_COLUMNS_MAX = 80;
const EXAMPLES = `Examples:
  almanac standalone                      run the server
  almanac sql "SHOW TABLES"               query it
  almanac config print --sources          see what it is set to, and why
`;

/** Runs the command in `process.argv`; resolves when it is done, for a server when it is ready. */
export async function run(): Promise<void> {
  const context: CommandContext = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    environment: processEnvironment(),
    finish: (code) => {
      process.exitCode = code;
    },
  };
  endQuietlyWithoutReader(process.stdout);
  endQuietlyWithoutReader(process.stderr);
  try {
    await defineProgram(context).parseAsync(process.argv);
  } catch (error) {
    process.exitCode = report(error);
  }
}

function defineProgram(context: CommandContext): Command {
  const program = new Command('almanac')
    .description('A time-series database for metrics, logs and traces.')
    .version(versionText(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .addHelpText('before', EXAMPLES)
    .configureOutput({
      getOutHelpWidth: () => Math.min(process.stdout.columns ?? HELP_COLUMNS_MAX, HELP_COLUMNS_MAX),
      getErrHelpWidth: () => HELP_COLUMNS_MAX,
    })
    .exitOverride();
  for (const command of COMMANDS) command.define(program, context);
  return program;
}

/** Prints a failure and returns its exit code. */
function report(error: unknown): ExitCode {
  // Commander has printed its own messages; it only uses the codes 0 and 1.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof CommandFailure) {
    process.stderr.write(`${error.message}\n`);
    return error.exitCode;
  }
  const shown = error instanceof AlmanacError ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`almanac: ${shown ?? 'failed'}\n`);
  return EXIT.failed;
}

/** The reader of the output may close the pipe first, as `head` does: that is not a failure. */
function endQuietlyWithoutReader(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.failed);
  });
}
