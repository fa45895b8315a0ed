import { Option } from 'commander';

import { readTextFile } from '#shared/fs/text-file';

import { caCertOption, namedServer } from '../server-target.js';
import { SqlConnection } from '../sql/connection.js';
import { OUTPUTS, runStatement, type Output } from '../sql/run-statement.js';
import { runShell } from '../sql/shell.js';
import { splitInput } from '../sql/statements.js';
import { CommandFailure, EXIT, type CliCommand, type CommandContext } from '../command.js';

interface SqlOptions {
  readonly host: string;
  readonly caCert?: string;
  readonly database: string;
  readonly user?: string;
  readonly output?: Output;
  readonly file?: string;
}

const EXAMPLES = `Examples:
  almanac sql "SELECT count(*) FROM cpu"
  almanac sql -o csv -f report.sql > report.csv
  echo "SHOW TABLES" | almanac sql
`;

/** `almanac sql`. */
export const sqlCommand: CliCommand = {
  name: 'sql',

  define(parent, context) {
    parent
      .command('sql')
      .description('run SQL on a server; on a terminal without statements: a shell')
      .addHelpText('before', EXAMPLES)
      .argument('[statements...]', 'statements, separated by semicolons; - reads standard input')
      .addOption(new Option('--host <url>', 'server').env('ALMANAC_HOST').default('http://127.0.0.1:4000'))
      .addOption(caCertOption())
      .option('-d, --database <name>', 'database', 'public')
      .addOption(
        new Option('--user <name>', 'user; ALMANAC_PASSWORD is the password, or a token of the user').env(
          'ALMANAC_USER',
        ),
      )
      .addOption(
        new Option('-o, --output <format>', 'format of results (default: table on a terminal, csv otherwise)').choices([
          ...OUTPUTS,
        ]),
      )
      .option('-f, --file <file>', 'read statements from a file; - is standard input')
      .action(async (statements: readonly string[], options: SqlOptions) => {
        const text = await statementText(statements, options.file, context);
        const { host, caCert, database, user } = options;
        const password = context.environment['ALMANAC_PASSWORD'];
        const connection = new SqlConnection({ server: namedServer(host, caCert), database, user, password });
        if (text === undefined) await runShell(connection, context);
        else await runAll(connection, text, options.output, context);
        context.finish(EXIT.done);
      });
  },
};

async function runAll(
  connection: SqlConnection,
  text: string,
  chosen: Output | undefined,
  context: CommandContext,
): Promise<void> {
  const { stdout } = context;
  const output = chosen ?? (stdout.isTTY ? 'table' : 'csv');
  const { statements, rest } = splitInput(text);
  const all = rest === '' ? statements : [...statements, rest];
  if (all.length === 0) throw new CommandFailure(EXIT.usage, 'error: there is no statement');
  const { signal } = new AbortController();
  for (const statement of all) await runStatement(connection, statement, output, { stdout, signal });
}

/** Returns the statements to run; undefined starts the shell. */
async function statementText(
  statements: readonly string[],
  file: string | undefined,
  { stdin }: CommandContext,
): Promise<string | undefined> {
  if (file !== undefined && statements.length > 0) {
    throw new CommandFailure(EXIT.usage, 'error: statements come from arguments or from a file, not both');
  }
  if (statements.length > 0 && statements[0] !== '-') return statements.join(' ');
  if (file !== undefined && file !== '-') {
    const text = readTextFile(file);
    if (text === undefined) throw new CommandFailure(EXIT.usage, `error: there is no file "${file}"`);
    return text;
  }
  if (stdin.isTTY && statements.length === 0 && file === undefined) return undefined;
  return readAll(stdin);
}

async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
