import { fileURLToPath } from 'node:url';

/**
 * The folder that holds `package.json`, `proto` and `services`, with a slash at its end: what the program reads of
 * its own. This module lies three folders below it, compiled (`dist/shared/fs`) and bundled (`dist/bundle/almanac`).
 */
export const PROGRAM_ROOT = fileURLToPath(new URL('../../../', import.meta.url));
