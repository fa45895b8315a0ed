import { spawn } from 'node:child_process';

export interface ProgramEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** A program that starts it, and its arguments. */
  readonly through?: readonly string[];
}

const PROGRAM = new URL('../../../services/cli/almanac.cjs', import.meta.url).pathname;

/** Runs `almanac` with these arguments to its end, in an environment that holds only PATH and what is given. */
export function runAlmanac(args: readonly string[], options: ProgramOptions = {}): Promise<ProgramEnd> {
  const [program = '', ...words] = [...(options.through ?? []), process.execPath, PROGRAM, ...args];
  const child = spawn(program, words, {
    cwd: options.folder,
    env: { PATH: process.env['PATH'], ...options.environment },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => undefined).end(options.input ?? '');
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}
