import { resolve } from 'node:path';

import type { Role } from '#shared/config/role';
import type { RoleAddress } from '#shared/lifecycle/role';

/** What a person who starts a server needs to know. */
export interface StartFacts {
  readonly role: Role;
  readonly version: string;
  readonly dataHome: string;
  readonly addresses: readonly RoleAddress[];
  readonly startMs: number;
}

/** Returns the lines that a terminal shows when the server is ready. */
export function startText({ role, version, dataHome, addresses, startMs }: StartFacts): string {
  const rows = [
    ['data', resolve(dataHome)],
    ...addresses.map(({ message, url }) => [LABELS[message] ?? message, url]),
    ['stop', 'Ctrl+C'],
  ];
  const lines = rows.map(([label, text]) => `  ${label.padEnd(10)} ${text}`);
  return `\nAlmanac ${version} (${role}) is ready after ${(startMs / 1000).toFixed(1)} s\n${lines.join('\n')}\n\n`;
}

/** Short names of addresses. */
const LABELS: Readonly<Record<string, string>> = {
  'main listener open': 'HTTP',
  'public listener open': 'public',
  'gRPC listener is open': 'gRPC',
};
