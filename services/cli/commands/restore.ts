import { resolve } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import { nodeFileSystem } from '#shared/fs/node-file-system';

import { onDisk } from '../backup/disk-error.js';
import { addConfigFlags, loadConfigFor, type ConfigFlagValues } from '../config-flags.js';
import { EXIT, type CliCommand } from '../command.js';
import { fileProgress } from '../progress.js';

interface RestoreFlags extends ConfigFlagValues {
  readonly link: boolean;
}

const EXAMPLES = `Examples:
  almanac restore /mnt/backup/monday --data-dir /var/lib/almanac-restored
`;

/** `almanac restore`. */
export const restoreCommand: CliCommand = {
  name: 'restore',

  define(parent, context) {
    addConfigFlags(parent.command('restore'), 'standalone')
      .description('create a data folder from a backup')
      .addHelpText('before', EXAMPLES)
      .argument('<folder>', 'the backup')
      .option('--link', 'link segments instead of copying them, on the same disk', false)
      .action(async (folder: string, { link, ...flags }: RestoreFlags) => {
        const { config } = loadConfigFor('standalone', flags, context);
        const dataFolder = resolve(config.storage.dataHome);
        // Loaded on demand, so that all other commands start in milliseconds.
        const { restoreBackup } = await import('../backup/restore-backup.js');
        const places = { source: resolve(folder), dataFolder };
        const progress = fileProgress(context.stderr, systemClock, 'restored');
        const options = { ...places, mayLink: link, fs: nodeFileSystem, progress };
        const restored = await onDisk(() => restoreBackup(options)).finally(() => progress.end());
        const { begun, fileCount, bytes } = restored;
        context.stdout.write(
          `${dataFolder}: ${fileCount} files, ${bytes} bytes, as of ${begun}\n` +
            `start it: almanac standalone --data-dir ${dataFolder}\n`,
        );
        context.finish(EXIT.done);
      });
  },
};
