/** Codes of the ASCII characters that byte parsers compare with. */

/** Null. */
export const NUL = 0x00;
/** Tab. */
export const TAB = 0x09;
/** Line feed. */
export const LF = 0x0a;
/** Carriage return. */
export const CR = 0x0d;
/** Space. */
export const SPACE = 0x20;
/** `"`. */
export const QUOTE = 0x22;
/** `#`. */
export const HASH = 0x23;
/** `+`. */
export const PLUS = 0x2b;
/** `,`. */
export const COMMA = 0x2c;
/** `-`. */
export const MINUS = 0x2d;
/** `.`. */
export const DOT = 0x2e;
/** `0`. */
export const DIGIT_0 = 0x30;
/** `:`. */
export const COLON = 0x3a;
/** `=`. */
export const EQUALS = 0x3d;
/** `[`. */
export const OPEN_BRACKET = 0x5b;
/** `]`. */
export const CLOSE_BRACKET = 0x5d;
/** `{`. */
export const OPEN_BRACE = 0x7b;
/** `}`. */
export const CLOSE_BRACE = 0x7d;
/** Backslash. */
export const BACKSLASH = 0x5c;
/** `e`. */
export const LOWER_E = 0x65;
/** `E`. */
export const UPPER_E = 0x45;
/** `i`. */
export const LOWER_I = 0x69;
/** `u`. */
export const LOWER_U = 0x75;
