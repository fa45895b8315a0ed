import type { ContractName, Contracts } from './contract.js';

type MethodsOf<Name extends ContractName> = ReadonlySet<keyof Contracts[Name]>;
type MethodTable = { readonly [Name in ContractName]: MethodsOf<Name> };

/**
 * Methods that may be called again when no answer came: asking twice changes no more than asking once, and the second
 * answer is as good as the first. Not `Ingester.write`, which the writer repeats itself under the batch's id.
 */
export const REPEATABLE: MethodTable = {
  Admin: new Set(['status', 'metrics', 'config']),
  Ingester: new Set(['flushTable', 'compactTable', 'dropTables']),
  Metadata: new Set([
    'listDatabases',
    'ensureTables',
    'getTable',
    'listTables',
    'getManifest',
    'commitSegments',
    'replaceSegments',
    'expireSegments',
    'registerNode',
    'heartbeat',
    'openRegion',
    'sealRegion',
    'moveRegion',
    'listGrants',
    'listNodes',
    'listGarbage',
    'forgetGarbage',
  ]),
  Querier: new Set([]),
};

/** Streams that end only when their caller leaves: a server that drains ends them itself. */
export const ENDLESS: ReadonlySet<string> = new Set(['Metadata.watch', 'Health.watch']);
