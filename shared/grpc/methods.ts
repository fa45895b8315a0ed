import type { ContractName, Contracts } from './contract.js';

type MethodsOf<Name extends ContractName> = ReadonlySet<keyof Contracts[Name]>;
type MethodTable = { readonly [Name in ContractName]: MethodsOf<Name> };

/**
 * Methods that may be repeated when there was no reply: calling them twice changes no more than calling them once. Not
 * `Ingester.write`, which the writer itself repeats under the batch's ID.
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
    'listRegionSizes',
    'listGarbage',
    'forgetGarbage',
    'getPipeline',
    'deletePipeline',
    'listPipelines',
    'alterUser',
    'listUsers',
    'listFlows',
    'getFlow',
    'leaseFlows',
    'listFlowChanges',
    'commitFlow',
    'getView',
  ]),
  Processes: new Set(['listProcesses', 'killProcess']),
  Querier: new Set([]),
};

/** Streams that end only when their caller cancels: a draining server ends them itself. */
export const ENDLESS: ReadonlySet<string> = new Set(['Metadata.watch', 'Health.watch']);
