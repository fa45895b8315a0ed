import { resolve } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { CheckOutput } from '../check/output.js';
import { configFileOption, loadConfigFor } from '../config-flags.js';
import { CommandFailure, EXIT, type CliCommand, type CommandContext } from '../command.js';
import { fileProgress } from '../progress.js';

interface CheckOptions {
  readonly configFile?: string;
  readonly metadataDir?: string;
  readonly quick: boolean;
  readonly json: boolean;
}

const EXAMPLES = `Examples:
  almanac check /var/lib/almanac
  almanac check --quick --json
  almanac check /mnt/almanac --metadata-dir /var/lib/almanac-metadata
`;

/** `almanac check`. */
export const checkCommand: CliCommand = {
  name: 'check',

  define(parent, context) {
    parent
      .command('check')
      .description('look for damaged and missing files in a data folder; changes nothing')
      .addHelpText('before', EXAMPLES)
      .argument('[dir]', 'data folder (default: the configured one); a server may be using it')
      .addOption(configFileOption())
      .option('--metadata-dir <folder>', 'data folder of metadata, if it has one of its own')
      .option('--quick', 'only look for the files and their sizes, do not read them', false)
      .option('--json', 'print one JSON object', false)
      .action(async (folder: string | undefined, options: CheckOptions) => {
        // Loaded on demand, so that all other commands start in milliseconds.
        const { openOutput } = await import('../check/output.js');
        const output = openOutput(context.stdout, options.json);
        const problems = await run(folder, options, output, context);
        context.finish(problems === 0 ? EXIT.done : EXIT.failed);
      });
  },
};

/** Runs the check. @returns the number of problems. */
async function run(
  folder: string | undefined,
  { configFile, metadataDir, quick }: CheckOptions,
  output: CheckOutput,
  context: CommandContext,
): Promise<number> {
  const { config } = loadConfigFor('standalone', { ...(configFile === undefined ? {} : { configFile }) }, context);
  const dataFolder = resolve(folder ?? config.storage.dataHome);
  const { checkFolder } = await import('../check/check-folder.js');
  const { Report } = await import('../check/report.js');
  const report = new Report(output);
  const progress = fileProgress(context.stderr, systemClock, 'checked');
  try {
    await checkFolder(
      {
        dataFolder,
        metadataFolder: `${metadataDir === undefined ? dataFolder : resolve(metadataDir)}/metadata`,
        walDir: config.wal.dir,
        isQuick: quick,
        progress,
      },
      report,
    );
  } catch (error) {
    if (!(error instanceof AlmanacError)) throw error;
    const code = error.code === 'invalid_arguments' ? EXIT.usage : EXIT.failed;
    throw new CommandFailure(code, `error: ${error.message}`, { cause: error });
  } finally {
    progress.end();
  }
  output.end(dataFolder, report);
  return report.problems;
}
