import type { Table } from '#shared/contracts/gen/common';
import type { NodeInfo, RegionSize } from '#shared/contracts/gen/metadata';

import { outputTable, parseFilter } from '../../run/table-output.js';
import { type TableOutput } from '../../statement.js';
import type { StatementContext, StatementKind } from '../../statement.js';

const COLUMNS: TableOutput['columns'] = [
  { name: 'Table', type: 'String' },
  { name: 'Region', type: 'Int64' },
  { name: 'Peer', type: 'Int64' },
  { name: 'Leader', type: 'String' },
];
const MORE_COLUMNS: TableOutput['columns'] = [
  { name: 'Epoch', type: 'Int64' },
  { name: 'Address', type: 'String' },
  { name: 'State', type: 'String' },
  { name: 'Segments', type: 'Int64' },
  { name: 'Rows', type: 'Int64' },
  { name: 'Bytes', type: 'Int64' },
];

/**
 * `SHOW [FULL] REGION|REGIONS [FROM|IN t [FROM|IN db]] [WHERE ..]`: the owner of each region, of one table or of all tables
 * in the session's database. FULL fetches the nodes, and the sizes of
 * the regions, from metadata.
 */
export const showRegions: StatementKind = {
  name: 'SHOW REGIONS',

  matches: (cursor) =>
    ['REGION', 'REGIONS'].some((word) => cursor.sees('SHOW', word) || cursor.sees('SHOW', 'FULL', word)),

  parse(cursor) {
    cursor.expect('SHOW');
    const isFull = cursor.accept('FULL');
    cursor.at++;
    const isOfTable = cursor.accept('FROM') || cursor.accept('IN');
    const named = isOfTable ? cursor.objectName('table name') : undefined;
    const isInDatabase = isOfTable && (cursor.accept('FROM') || cursor.accept('IN'));
    const schema = isInDatabase ? cursor.name('database name') : (named?.schema ?? '');
    const filter = parseFilter(cursor);
    return {
      isQuery: false,
      async *run(context) {
        const { deps, session, call } = context;
        const database = deps.names.databaseOf(named?.catalog ?? '', schema, session.database);
        const tables =
          named === undefined
            ? await deps.catalog.tables(database, call)
            : [await deps.names.get(database, named.name, call)];
        const rows = isFull
          ? fullRows(tables, await nodesOf(context), await sizesOf(context, database))
          : tables.flatMap(rowsOf);
        const columns = isFull ? [...COLUMNS, ...MORE_COLUMNS] : COLUMNS;
        yield* outputTable(context, { columns, rows }, filter);
      },
    };
  },
};

type Row = (string | number | null)[];

/** A region without an owner has no peer. */
function rowsOf({ name, regions }: Table): Row[] {
  return regions.map(({ regionId, nodeId }) => [
    name,
    regionId,
    nodeId === 0 ? null : nodeId,
    nodeId === 0 ? 'No' : 'Yes',
  ]);
}

function fullRows(
  tables: readonly Table[],
  nodes: ReadonlyMap<number, NodeInfo>,
  sizes: ReadonlyMap<number, RegionSize>,
): Row[] {
  return tables.flatMap((table) =>
    rowsOf(table).map((row, i) => {
      const { regionId, epoch, nodeId } = table.regions[i];
      // A region without files is in no list.
      const { segments, rows, bytes } = sizes.get(regionId) ?? NO_FILES;
      const node = nodes.get(nodeId);
      return [...row, epoch, node?.addr ?? null, node?.state ?? null, segments, rows, bytes];
    }),
  );
}

const NO_FILES = { segments: 0, rows: 0, bytes: 0 };

async function sizesOf({ deps, call }: StatementContext, database: string): Promise<ReadonlyMap<number, RegionSize>> {
  const { regions } = await deps.metadata.listRegionSizes({ database }, call);
  return new Map(regions.map((size) => [size.regionId, size]));
}

async function nodesOf({ deps, call }: StatementContext): Promise<ReadonlyMap<number, NodeInfo>> {
  const { nodes } = await deps.metadata.listNodes({}, call);
  return new Map(nodes.map((node) => [node.nodeId, node]));
}
