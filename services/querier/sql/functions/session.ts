import { quoteText } from '#shared/duckdb/quote';
import { readBuildInfo } from '#shared/lifecycle/build-info';

import { cast } from '../syntax/ast.js';
import type { RunValues } from '../syntax/literals.js';
import { argumentsOf, type FunctionRule } from './function.js';

const constant = (names: readonly string[], value: (run: RunValues) => string): FunctionRule => ({
  names,
  rewrite(node, context) {
    argumentsOf(node, 0, 0);
    return context.typed(
      context.perRun((run) => quoteText(value(run))),
      'text',
    );
  },
});

const number = (names: readonly string[]): FunctionRule => ({
  names,
  rewrite(node, context) {
    argumentsOf(node, 0, 0);
    return context.typed(
      context.perRun(() => '0::UINTEGER'),
      'int',
    );
  },
});

let build: ReturnType<typeof readBuildInfo> | undefined;

/** Reads the files of the program once. */
function buildInfo(): ReturnType<typeof readBuildInfo> {
  build ??= readBuildInfo();
  return build;
}

function buildText(): string {
  const { version, commit, branch } = buildInfo();
  return `version: ${version}\ncommit: ${commit}\nbranch: ${branch}`;
}

/** `timezone()`; with arguments, what `AT TIME ZONE` is parsed as. */
const timezone: FunctionRule = {
  names: ['timezone'],
  rewrite(node, context) {
    const [zone, time] = argumentsOf(node, 0, 2);
    if (time !== undefined) return Object.assign(node, { children: [zone, cast(time, 'TIMESTAMP')] });
    argumentsOf(node, 0, 0);
    return context.typed(
      context.perRun((run) => quoteText(run.zone.name)),
      'text',
    );
  },
};

/** Functions of the session: its database, user and time zone, and the program. */
export const SESSION_FUNCTIONS: readonly FunctionRule[] = [
  constant(['database', 'current_database', 'current_schema'], ({ database }) => database),
  constant(['current_user', 'session_user', 'user', 'current_role'], ({ user }) => user),
  timezone,
  constant(['version'], () => `Almanac ${buildInfo().version}`),
  constant(['build'], buildText),
  // Requests over HTTP have no connection of their own.
  number(['connection_id', 'pg_backend_pid']),
];

/** Functions that may be written without parentheses. */
export const BARE_FUNCTIONS: ReadonlySet<string> = new Set([
  'current_schema',
  'current_user',
  'session_user',
  'user',
  'current_role',
]);
