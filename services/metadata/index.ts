import type { Clock } from '#shared/clock/clock';
import { checkCall, type Call } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { FileSystem } from '#shared/fs/file-system';
import type { Service } from '#shared/lifecycle/service';
import { Catalog } from './catalog.js';
import { createDatabase, dropDatabase, listDatabases } from './rpc/databases.js';
import { listGrants, listNodes, registerNode } from './rpc/nodes.js';
import { commitSegments, forgetGarbage, getManifest, listGarbage, truncateTable } from './rpc/segments.js';
import { createTable, dropTable, ensureTables, getTable, listTables, type TableDefaults } from './rpc/tables.js';

export interface MetadataOptions {
  /** Folder of the catalog file; it must exist. */
  readonly folder: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly defaults: TableDefaults;
}

export interface RunningMetadata extends Service {
  readonly service: MetadataService;
}

/** The catalog, grants and manifest, over one SQLite file. Calls are synchronous inside, so each is atomic. */
export async function startMetadata({ folder, fs, clock, defaults }: MetadataOptions): Promise<RunningMetadata> {
  const catalog = await Catalog.open(`${folder}/almanac.db`, fs, clock);
  return {
    service: metadataService(catalog, defaults),
    drain: () => Promise.resolve(),
    stop() {
      catalog.close();
      return Promise.resolve();
    },
  };
}

function metadataService(catalog: Catalog, defaults: TableDefaults): MetadataService {
  return {
    createDatabase: async (request, call) => answer(catalog, call, () => createDatabase(catalog, request)),
    dropDatabase: async (request, call) => answer(catalog, call, () => dropDatabase(catalog, request)),
    listDatabases: async (request, call) => answer(catalog, call, () => listDatabases(catalog, request)),
    createTable: async (request, call) => answer(catalog, call, () => createTable(catalog, request, defaults)),
    ensureTables: async (request, call) => answer(catalog, call, () => ensureTables(catalog, request, defaults)),
    getTable: async (request, call) => answer(catalog, call, () => getTable(catalog, request)),
    listTables: async (request, call) => answer(catalog, call, () => listTables(catalog, request)),
    dropTable: async (request, call) => answer(catalog, call, () => dropTable(catalog, request)),
    truncateTable: async (request, call) => answer(catalog, call, () => truncateTable(catalog, request)),
    getManifest: async (request, call) => answer(catalog, call, () => getManifest(catalog, request.regionId)),
    commitSegments: async (request, call) => answer(catalog, call, () => commitSegments(catalog, request)),
    registerNode: async (request, call) => answer(catalog, call, () => registerNode(catalog, request)),
    listGrants: async (request, call) => answer(catalog, call, () => listGrants(catalog, request)),
    listNodes: async (_request, call) => answer(catalog, call, () => listNodes(catalog)),
    watch: (request, call) => catalog.hub.watch(request.afterVersion, () => catalog.everything(), call),
    listGarbage: async (request, call) => answer(catalog, call, () => listGarbage(catalog, request)),
    forgetGarbage: async (request, call) =>
      answer(catalog, call, () => {
        forgetGarbage(catalog, request);
        return {};
      }),
  };
}

/** Runs one method, unless its caller gave up already. */
function answer<T>(catalog: Catalog, call: Call, method: () => T): Promise<T> {
  checkCall(call);
  return Promise.resolve(catalog.run(method));
}
