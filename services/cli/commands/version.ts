import { readBuildInfo } from '#shared/lifecycle/build-info';

import { versionText } from '../version-text.js';
import { EXIT, type CliCommand } from '../command.js';

/** `almanac version`. */
export const versionCommand: CliCommand = {
  name: 'version',

  define(parent, { stdout, finish }) {
    parent
      .command('version')
      .description('print the version')
      .option('--json', 'as JSON', false)
      .action(({ json }: { readonly json: boolean }) => {
        const { version: node, platform, arch } = process;
        stdout.write(`${json ? JSON.stringify({ ...readBuildInfo(), node, platform, arch }) : versionText()}\n`);
        finish(EXIT.done);
      });
  },
};
