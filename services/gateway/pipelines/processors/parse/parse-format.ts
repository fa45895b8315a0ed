import type { Options } from '../../options.js';
import type { PipelineValue } from '../../values/value.js';

/** Takes the fields that a format finds. Nothing is stored unless the whole text has the format. */
export class ParsedFields {
  readonly names: string[] = [];
  readonly values: PipelineValue[] = [];

  /** Sets a field. */
  set(name: string, value: PipelineValue): void {
    this.names.push(name);
    this.values.push(value);
  }

  /** Sets a field unless there is no value, or it is the hyphen by which logs mark a value that is absent. */
  setKnown(name: string, value: PipelineValue | undefined): void {
    if (value !== undefined && value !== '-' && value !== '') this.set(name, value);
  }

  clear(): void {
    this.names.length = this.values.length = 0;
  }
}

/** Reads a text. @returns whether it has the format. */
export type FormatReader = (text: string, fields: ParsedFields) => boolean;

/** What formats are compiled with. */
export interface FormatContext {
  readonly options: Options;
  /** Zone of times without an offset. */
  readonly timezone: string;
  readonly nowNs: () => bigint;
}

/** A format of `parse`. */
export interface ParseFormat {
  /** Value of the option `as`. */
  readonly name: string;
  /** Reads the options of the format. @throws `invalid_arguments` for options that are not allowed. */
  build(context: FormatContext): FormatReader;
}
