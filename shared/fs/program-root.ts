import { fileURLToPath } from 'node:url';

/**
 * The folder that contains `package.json`, `proto` and `services`, with a trailing slash. This module is three folders
 * below it, both compiled (`dist/shared/fs`) and bundled (`dist/bundle/almanac`).
 */
export const PROGRAM_ROOT = fileURLToPath(new URL('../../../', import.meta.url));
