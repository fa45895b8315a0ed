import { resolve } from 'node:path';

import { Option } from 'commander';

import { systemClock } from '#shared/clock/clock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { readBuildInfo } from '#shared/lifecycle/build-info';

import { onDisk } from '../backup/disk-error.js';
import { addConfigFlags, loadConfigFor, type ConfigFlagValues } from '../config-flags.js';
import { fileProgress } from '../progress.js';
import { caCertOption, namedServer, ownServer } from '../server-target.js';
import { SqlConnection } from '../sql/connection.js';
import { EXIT, type CliCommand } from '../command.js';

interface BackupFlags extends ConfigFlagValues {
  readonly host?: string;
  readonly caCert?: string;
  readonly user?: string;
  readonly copy: boolean;
}

/** Longest time for one flush, which writes a segment for each region of a table. */
const FLUSH_TIMEOUT = '4m';

const EXAMPLES = `Examples:
  almanac backup /mnt/backup/monday --data-dir /var/lib/almanac
  almanac backup ./before-upgrade -c /etc/almanac/almanac.toml --copy
`;

/** Advice if no server runs and the log has rows that are not flushed. */
const IF_STOPPED =
  'the log has rows that are in no segment yet, and only the server can flush them: ' +
  'start it, or copy the folder of the stopped instance, with its log, by cp -a';

/** `almanac backup`. */
export const backupCommand: CliCommand = {
  name: 'backup',

  define(parent, context) {
    addConfigFlags(parent.command('backup'), 'standalone')
      .description('back up a running instance; run it on the machine of its data folder')
      .addHelpText('before', EXAMPLES)
      .argument('<folder>', 'target: a folder that is empty or does not exist')
      .addOption(new Option('--host <url>', 'its server (default: the configured http.addr)').env('ALMANAC_HOST'))
      .addOption(caCertOption())
      .addOption(
        new Option('--user <name>', 'user; ALMANAC_PASSWORD is the password, or a token of the user').env(
          'ALMANAC_USER',
        ),
      )
      .option('--copy', 'copy all files; otherwise files on the same disk are linked', false)
      .action(async (folder: string, { host, caCert, user, copy, ...flags }: BackupFlags) => {
        const { config } = loadConfigFor('standalone', flags, context);
        const dataFolder = resolve(config.storage.dataHome);
        const target = resolve(folder);
        const connection = new SqlConnection({
          server: host === undefined ? ownServer(config) : namedServer(host, caCert),
          database: 'public',
          user,
          password: context.environment['ALMANAC_PASSWORD'],
          timeout: FLUSH_TIMEOUT,
          ifUnreachable: IF_STOPPED,
        });
        // Loaded on demand, so that all other commands start in milliseconds.
        const { writeBackup } = await import('../backup/write-backup.js');
        const places = { dataFolder, walDir: config.wal.dir, target, connection };
        const deps = { fs: nodeFileSystem, clock: systemClock, version: readBuildInfo().version };
        const progress = fileProgress(context.stderr, systemClock, 'taken');
        const written = await onDisk(() => writeBackup({ ...places, ...deps, mayLink: !copy, progress })).finally(() =>
          progress.end(),
        );
        const { begun, fileCount, linkedCount, bytes } = written;
        const links = linkedCount === 0 ? '' : `, ${linkedCount} of them linked`;
        context.stdout.write(
          `${target}: ${fileCount} files, ${bytes} bytes${links}\n` +
            `every row that was acknowledged before ${begun} is in it\n`,
        );
        context.finish(EXIT.done);
      });
  },
};
