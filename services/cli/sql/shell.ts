import { createInterface, type Interface } from 'node:readline/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import type { Environment } from '#shared/config/env';
import { appendPrivateText, readTextFile } from '#shared/fs/text-file';

import { CommandFailure, type CommandContext } from '../command.js';
import type { SqlConnection } from './connection.js';
import { runStatement, type Output } from './run-statement.js';
import { splitInput } from './statements.js';

const HISTORY_LINES_MAX = 1_000;
const HELP = `\\d [table]  tables, or the columns of one
\\dt         tables
\\l          databases
\\x          one line for each column: on, off
\\timing     time of each statement: on, off
\\?          this help
\\q          leave
Statements end with ; and may span lines. Ctrl+C cancels a statement, or leaves.
`;

/** The interactive shell: reads statements until the user leaves. */
export async function runShell(connection: SqlConnection, context: CommandContext): Promise<void> {
  await new Shell(connection, context).run();
}

class Shell {
  readonly #connection: SqlConnection;
  readonly #context: CommandContext;
  readonly #lines: Interface;
  readonly #historyFile: string;
  #pending = '';
  #isExpanded = false;
  #isTimed = false;
  #isLeaving = false;
  #running: AbortController | undefined;

  constructor(connection: SqlConnection, context: CommandContext) {
    this.#connection = connection;
    this.#context = context;
    this.#historyFile = historyFile(context.environment);
    this.#lines = createInterface({
      input: context.stdin,
      output: context.stdout,
      history: readHistory(this.#historyFile),
      historySize: HISTORY_LINES_MAX,
    });
  }

  async run(): Promise<void> {
    const { stdout } = this.#context;
    stdout.write(`Connected to ${this.#connection.host}. \\? for help, \\q to leave.\n`);
    this.#lines.on('SIGINT', () => this.#interrupt());
    this.#prompt();
    for await (const line of this.#lines) {
      await this.#take(line);
      if (this.#isLeaving) break;
      this.#prompt();
    }
    this.#lines.close();
  }

  #prompt(): void {
    this.#lines.setPrompt(this.#pending === '' ? `${this.#connection.database}> ` : '... ');
    this.#lines.prompt();
  }

  /** Cancels the running statement; otherwise clears the input; otherwise leaves. */
  #interrupt(): void {
    if (this.#running !== undefined) this.#running.abort();
    else if (this.#pending !== '' || this.#lines.line !== '') {
      this.#pending = '';
      this.#context.stdout.write('\n');
      this.#lines.write(null, { ctrl: true, name: 'u' });
      this.#prompt();
    } else this.#lines.close();
  }

  async #take(line: string): Promise<void> {
    if (line.trim() !== '' && !line.startsWith(' ')) appendPrivateText(this.#historyFile, `${line}\n`);
    if (this.#pending === '' && line.trim().startsWith('\\')) return this.#meta(line.trim());
    const { statements, rest } = splitInput(`${this.#pending}${line}\n`);
    this.#pending = rest === '' ? '' : `${rest}\n`;
    for (const statement of statements) await this.#execute(statement);
  }

  async #meta(line: string): Promise<void> {
    const [command, ...words] = line.split(/\s+/);
    const { stdout } = this.#context;
    if (command === '\\q') this.#isLeaving = true;
    else if (command === '\\dt' || (command === '\\d' && words.length === 0)) await this.#execute('SHOW TABLES');
    else if (command === '\\d') await this.#execute(`DESCRIBE TABLE ${words.join(' ').replace(/;$/, '')}`);
    else if (command === '\\l') await this.#execute('SHOW DATABASES');
    else if (command === '\\x') {
      this.#isExpanded = !this.#isExpanded;
      stdout.write(`expanded display is ${this.#isExpanded ? 'on' : 'off'}\n`);
    } else if (command === '\\timing') {
      this.#isTimed = !this.#isTimed;
      stdout.write(`timing is ${this.#isTimed ? 'on' : 'off'}\n`);
    } else if (command === '\\?') stdout.write(HELP);
    else stdout.write(`unknown command ${command}; \\? lists all\n`);
  }

  /** Runs a statement; a failure is printed and the shell continues. */
  async #execute(statement: string): Promise<void> {
    const { stdout, stderr } = this.#context;
    const output: Output = this.#isExpanded ? 'expanded' : 'table';
    const startedMs = systemClock.monotonicMs();
    this.#running = new AbortController();
    try {
      await runStatement(this.#connection, statement, output, { stdout, signal: this.#running.signal });
      if (this.#isTimed) stdout.write(`Time: ${(systemClock.monotonicMs() - startedMs).toFixed(1)} ms\n`);
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      stderr.write(`${error.message}\n`);
    } finally {
      this.#running = undefined;
    }
  }
}

function historyFile(environment: Environment): string {
  const state = environment['XDG_STATE_HOME'] ?? '';
  return join(state === '' ? join(homedir(), '.local', 'state') : state, 'almanac', 'history');
}

/** Newest first, as readline expects it. */
function readHistory(file: string): string[] {
  const lines = readTextFile(file)?.split('\n') ?? [];
  return lines
    .filter((line) => line !== '')
    .reverse()
    .slice(0, HISTORY_LINES_MAX);
}
