import { backupCommand } from './backup.js';
import { checkCommand } from './check.js';
import type { CliCommand } from '../command.js';
import { configCommand } from './config.js';
import { healthCommand } from './health.js';
import { restoreCommand } from './restore.js';
import { serverCommands } from './servers.js';
import { sqlCommand } from './sql.js';
import { userCommand } from './user.js';
import { versionCommand } from './version.js';

/** All commands, in the order in which help lists them. */
export const COMMANDS: readonly CliCommand[] = [
  ...serverCommands,
  sqlCommand,
  backupCommand,
  restoreCommand,
  checkCommand,
  configCommand,
  userCommand,
  healthCommand,
  versionCommand,
];
