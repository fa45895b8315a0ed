import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

import type { Role } from '#shared/config/role';
import { invariant } from '#shared/errors/invariant';

const ROOT = new URL('../../../', import.meta.url);
/** Where the image keeps data. */
export const DATA_FOLDER = '/var/lib/almanac';

type Texts = Readonly<Record<string, string>>;

/** A service of docker-compose.yml, variables filled in. */
export interface ComposeService {
  readonly image: string;
  readonly build: { readonly context: string; readonly dockerfile: string };
  readonly command: readonly [Role, ...string[]];
  readonly environment: Record<string, string>;
  readonly healthcheck: { readonly test: readonly string[]; readonly interval: string; readonly timeout: string };
  readonly container_name?: string;
  readonly profiles?: readonly string[];
  readonly ports?: readonly string[];
  readonly expose?: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly read_only?: boolean;
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Reads docker-compose.yml. @param variables what the shell or `.env` would give. */
export function readCompose(variables: Texts = {}): Compose {
  const text = readFileSync(new URL('docker-compose.yml', ROOT), 'utf8');
  const compose = parse(fillIn(text, variables), { merge: true }) as Compose;
  for (const { environment } of Object.values(compose.services)) {
    // A number is a text for a process.
    const values = Object.entries(environment as Record<string, string | number>);
    for (const [name, value] of values) environment[name] = `${value}`;
  }
  return compose;
}

/** `${NAME:-default}` and `${NAME}`, as Compose does it. */
function fillIn(text: string, variables: Texts): string {
  return text.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, fallback: string | undefined) => {
    const value = variables[name] ?? '';
    return value === '' ? (fallback ?? '') : value;
  });
}

/** What deploy/Dockerfile sets for every process. */
export function imageEnvironment(): Texts {
  const [, block] = /^ENV ((?:.*\\\n)*.*)$/m.exec(readDockerfile()) ?? [];
  invariant(block !== undefined, 'the image sets an environment');
  return Object.fromEntries([...block.matchAll(/([A-Z_]+)=(\S+)/g)].map((match) => [match[1], match[2]]));
}

export function readDockerfile(): string {
  return readFileSync(new URL('deploy/Dockerfile', ROOT), 'utf8');
}

/** What differs between a container and a process of the test. */
export interface Places {
  /** Stands for the folder of the shared volume. */
  readonly dataFolder: string;
  readonly metadataPort: number;
  /** Of this process. */
  readonly grpcPort: number;
  readonly httpPort: number;
}

export interface ComposeProcess {
  readonly role: Role;
  /** Of `almanac`. */
  readonly args: readonly string[];
  readonly environment: Texts;
  /** Of `almanac`: the probe of the container, which exits with 0 when it is ready. */
  readonly healthArgs: readonly string[];
}

/** A process that runs what a container of this service would: same command, same environment, on loopback. */
export function composeProcess(service: ComposeService, places: Places): ComposeProcess {
  const [role, ...args] = service.command;
  const environment: Record<string, string> = { ...imageEnvironment(), ...service.environment };
  for (const [name, value] of Object.entries(environment)) {
    environment[name] = onLoopback(name, value.replace(DATA_FOLDER, places.dataFolder), places);
  }
  return { role, args: [role, ...args], environment, healthArgs: service.healthcheck.test.slice(2) };
}

function onLoopback(name: string, value: string, { metadataPort, grpcPort, httpPort }: Places): string {
  if (name === 'ALMANAC_METADATA__ADDR') return `127.0.0.1:${metadataPort}`;
  if (name === 'ALMANAC_HTTP__ADDR') return `127.0.0.1:${httpPort}`;
  return name.endsWith('__GRPC__BIND_ADDR') ? `127.0.0.1:${grpcPort}` : value;
}
