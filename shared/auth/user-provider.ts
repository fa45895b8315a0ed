import { parseInlineUsers, parseUsers, type ParsedUsers, type User } from '#shared/auth/user-file';
import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { readTextFile } from '#shared/fs/text-file';
import type { Logger } from '#shared/telemetry/log';

/** Users of the configuration. */
export interface UserProvider {
  find(name: string): User | undefined;
  /** Stops watching. */
  close(): void;
}

/** Dependencies of `openUserProvider`. */
export interface UserProviderDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

const MALFORMED_LINE = 'malformed line of the user file is ignored; allowed: name[:mode][@database|database]=password';
/** Time between two looks at a watched file. */
const WATCH_MS = 1_000;

/**
 * Opens the users that `user_provider` names; undefined if it is empty.
 *
 * @throws `invalid_arguments` for a value that names none, and for a file without a valid user.
 */
export function openUserProvider(value: string, deps: UserProviderDeps): UserProvider | undefined {
  if (value === '') return undefined;
  const [kind, ...rest] = value.split(':');
  const text = rest.join(':');
  if (kind === 'static_user_provider' && text.startsWith('cmd:')) return fixed(inlineUsers(text.slice('cmd:'.length)));
  if (kind === 'static_user_provider' && text.startsWith('file:')) {
    return fixed(usersOfFile(text.slice('file:'.length), deps));
  }
  if (kind === 'watch_file_user_provider' && text !== '') return watched(text.replace(/^file:/, ''), deps);
  throw invalid(
    'it must be static_user_provider:file:PATH, static_user_provider:cmd:USER=PASSWORD or watch_file_user_provider:PATH',
  );
}

function fixed({ users }: ParsedUsers): UserProvider {
  return { find: (name) => users.get(name), close: () => undefined };
}

function watched(path: string, deps: UserProviderDeps): UserProvider {
  const { clock, log } = deps;
  let { users } = usersOfFile(path, deps);
  let text = readTextFile(path);
  let problem: string | undefined;
  const control = new AbortController();
  const look = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(WATCH_MS, control.signal);
      if (control.signal.aborted) return;
      try {
        const read = readTextFile(path);
        problem = undefined;
        if (read === text) continue;
        text = read;
        ({ users } = usersOfFile(path, deps));
        log.info({ path, users: users.size }, 'user file read again');
      } catch (error) {
        const reason = AlmanacError.from(error).message;
        // A file that cannot be read is tried again every second.
        if (reason !== problem) log.warn({ path, reason }, 'user file not usable: former users stay');
        problem = reason;
      }
    }
  };
  void look();
  return { find: (name) => users.get(name), close: () => control.abort() };
}

function inlineUsers(text: string): ParsedUsers {
  const parsed = parseInlineUsers(text);
  if (parsed.malformed.length > 0 || parsed.users.size === 0) {
    throw invalid('each of the users must be USER=PASSWORD, separated by commas');
  }
  return parsed;
}

function usersOfFile(path: string, { log }: UserProviderDeps): ParsedUsers {
  const text = readTextFile(path);
  if (text === undefined) throw invalid(`UserProvider file must exist: "${path}"`);
  const parsed = parseUsers(text);
  // Never the lines themselves: they may contain passwords.
  for (const line of parsed.malformed) log.warn({ path, line }, MALFORMED_LINE);
  if (parsed.users.size > 0) return parsed;
  throw invalid(`UserProvider file must contain at least one valid credential: "${path}"`);
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Invalid config value: user_provider, ${text}`);
}
