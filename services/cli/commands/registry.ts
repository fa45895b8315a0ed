import { backup } from './backup.js';
import { check } from './check.js';
import type { CliCommand } from '../command.js';
import { config } from './config.js';
import { health } from './health.js';
import { restore } from './restore.js';
import { servers } from './servers.js';
import { sql } from './sql.js';
import { version } from './version.js';

/** All commands, in the order in which help lists them. */
export const COMMANDS: readonly CliCommand[] = [...servers, sql, backup, restore, check, config, health, version];
