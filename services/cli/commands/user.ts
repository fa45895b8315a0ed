import { InvalidArgumentError, Option } from 'commander';

import { hashPassword, newSalt, PASSWORD_FORMATS, type PasswordFormat } from '#shared/auth/password';

import { CommandFailure, EXIT, type CliCommand, type CommandContext } from '../command.js';

interface HashFlags {
  readonly password?: string;
  readonly passwordStdin: boolean;
  readonly format: PasswordFormat;
  readonly iterations: number;
  readonly saltLen: number;
  readonly saltHex?: string;
}

/** Characters of a password that are read. */
const PASSWORD_LENGTH_MAX = 4096;

/** `almanac user hash-password`. */
export const userCommand: CliCommand = {
  name: 'user',

  define(parent, context) {
    const user = parent.command('user').description('passwords of user files');
    user
      .command('hash-password')
      .description('print a password as a user file keeps it: NAME=THIS')
      .option('--password-stdin', 'read the password from standard input', false)
      .option('--password <text>', 'the password; other users of this machine can see it')
      .addOption(new Option('--format <name>', 'how it is hashed').choices(PASSWORD_FORMATS).default('scrypt'))
      .option('--iterations <number>', 'rounds of PBKDF2', wholeNumber, 600_000)
      .option('--salt-len <bytes>', 'length of the random salt', wholeNumber, 16)
      .option('--salt-hex <hex>', 'the salt, instead of a random one')
      .action(async (flags: HashFlags) => {
        const salt = flags.saltHex === undefined ? newSalt(flags.saltLen) : Buffer.from(flags.saltHex, 'hex');
        const { format, iterations } = flags;
        const text = await hashPassword(await passwordOf(flags, context), { format, iterations, salt });
        context.stdout.write(`${text}\n`);
        context.finish(EXIT.done);
      });
  },
};

async function passwordOf({ password, passwordStdin }: HashFlags, { stdin }: CommandContext): Promise<string> {
  if (password !== undefined) return password;
  if (!passwordStdin) throw new CommandFailure(EXIT.usage, 'give --password-stdin or --password');
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > PASSWORD_LENGTH_MAX) throw new CommandFailure(EXIT.usage, 'the password is too long');
  }
  // `echo` adds a line break.
  return text.replace(/\r?\n$/, '');
}

function wholeNumber(text: string): number {
  if (/^[0-9]{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('not a whole number');
}
