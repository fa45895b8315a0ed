import type { Tokens } from './lex.js';

/** One query of a text: tokens `[from, to)`. */
export interface QueryText {
  readonly tokens: Tokens;
  readonly from: number;
  readonly to: number;
}
