import { pino } from 'pino';

import type { Clock } from '#shared/clock/clock';

import { formatLogLine } from './log-text.js';
import { LEVELS, parseLogFilter, type LineLevel, type LogFilter } from './log-filter.js';

/** Data of a log line, with units in the names; `error` holds a thrown value. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes lines of one component. The message is a fixed lower-case phrase, everything variable is a field. */
export interface Logger {
  error(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  debug(fields: LogFields, message: string): void;
  trace(fields: LogFields, message: string): void;
  /** Whether lines of the level are written, for work that is only done for a log line. */
  isEnabled(level: LineLevel): boolean;
  /** Returns a logger whose lines also carry these fields; `component` (dotted: `ingester.flush`) replaces its own. */
  child(fields: LogFields): Logger;
}

/** The log of a process: its root logger, and a filter that may change while it runs. */
export interface Log {
  readonly logger: Logger;
  readonly filter: LogFilter;
  /**
   * Replaces the filter of all loggers.
   *
   * @throws `invalid_arguments` if the text is malformed; nothing changes then.
   */
  setFilter(text: string): void;
  /** Adds fields to all later lines of all loggers, for example the node ID. */
  readonly setFields: (fields: LogFields) => void;
}

/** Options of `openLog`. */
export interface LogOptions {
  /** `info,gateway=debug`; see `parseLogFilter`. */
  readonly filter: string;
  readonly format: 'text' | 'json';
  /** Whether the text format uses colours. */
  readonly coloured: boolean;
  readonly clock: Clock;
  /** Receives each finished line with its line break. */
  readonly write: (line: string) => void;
  /** Called for each line that is written, for counting. */
  readonly onLine?: (level: LineLevel, component: string) => void;
}

/** Opens a log. @throws `invalid_arguments` if the filter is malformed. */
export function openLog(options: LogOptions): Log {
  const state: LogState = { filter: parseLogFilter(options.filter), fields: {}, onLine: options.onLine };
  const sink = {
    write: (json: string) => options.write(options.format === 'json' ? json : formatLogLine(json, options.coloured)),
  };
  const root = pino(
    {
      level: 'trace',
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date(options.clock.nowMs()).toISOString()}"`,
      serializers: { error: pino.stdSerializers.err },
    },
    sink,
  );
  return {
    logger: new ComponentLogger(state, root, 'main', {}),
    get filter() {
      return state.filter;
    },
    setFilter(text) {
      state.filter = parseLogFilter(text);
    },
    setFields(fields) {
      state.fields = { ...state.fields, ...fields };
    },
  };
}

/** Returns a writer to standard error that ignores a closed pipe. */
export function writeToStandardError(): (line: string) => void {
  // Synchronous, so that the last lines before an exit are not lost.
  const destination = pino.destination({ fd: 2, sync: true });
  destination.on('error', () => {
    // The reader of the log is gone (EPIPE), and there is nowhere else to report that.
  });
  return (line) => destination.write(line);
}

interface LogState {
  filter: LogFilter;
  fields: LogFields;
  readonly onLine: ((level: LineLevel, component: string) => void) | undefined;
}

class ComponentLogger implements Logger {
  readonly #state: LogState;
  readonly #pino: pino.Logger;
  readonly #component: string;
  readonly #fields: LogFields;
  #checkedFilter: LogFilter | undefined;
  #threshold = 0;

  constructor(state: LogState, root: pino.Logger, component: string, fields: LogFields) {
    this.#state = state;
    this.#pino = root;
    this.#component = component;
    this.#fields = fields;
  }

  error(fields: LogFields, message: string): void {
    this.#write('error', fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#write('warn', fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.#write('info', fields, message);
  }

  debug(fields: LogFields, message: string): void {
    this.#write('debug', fields, message);
  }

  trace(fields: LogFields, message: string): void {
    this.#write('trace', fields, message);
  }

  isEnabled(level: LineLevel): boolean {
    // The level is looked up again only after the filter changed.
    if (this.#checkedFilter !== this.#state.filter) {
      this.#checkedFilter = this.#state.filter;
      this.#threshold = LEVELS.indexOf(this.#checkedFilter.levelOf(this.#component));
    }
    return LEVELS.indexOf(level) <= this.#threshold;
  }

  child(fields: LogFields): Logger {
    const { component, ...others } = fields;
    const name = typeof component === 'string' ? component : this.#component;
    return new ComponentLogger(this.#state, this.#pino, name, { ...this.#fields, ...others });
  }

  #write(level: LineLevel, fields: LogFields, message: string): void {
    if (!this.isEnabled(level)) return;
    this.#state.onLine?.(level, this.#component);
    this.#pino[level]({ component: this.#component, ...this.#state.fields, ...this.#fields, ...fields }, message);
  }
}
