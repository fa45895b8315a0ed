import type { CliCommand } from './command.js';
import { config } from './config.js';
import { health } from './health.js';
import { sql } from './sql.js';
import { standalone } from './standalone.js';
import { version } from './version.js';

/** All commands, in the order in which help lists them. */
export const COMMANDS: readonly CliCommand[] = [standalone, sql, config, health, version];
