import { expect } from 'chai';

import type { Table } from '#shared/contracts/gen/common';
import { TableMap } from '#shared/discovery/table-map';

function table(tableId: number, name: string, schemaVersion = 1): Table {
  return {
    tableId,
    databaseId: 1,
    database: 'public',
    name,
    schemaVersion,
    columns: [],
    options: {},
    primaryKey: [],
    regions: [],
    createdMs: 0,
    ttl: '',
  };
}

describe('tables of a catalog cache', () => {
  let tables: TableMap;
  const idOf = (name: string): number | undefined => tables.find('public', name)?.tableId;

  beforeEach(() => (tables = new TableMap()));

  it('have the names of their newest versions, in whatever order these arrive', () => {
    tables.put(table(1, 'a'));
    tables.put(table(5, 'x'));
    // Meanwhile 5 became `y`, then 1 became `x`; a complete state comes in order of names.
    tables.put(table(1, 'x', 2));
    tables.put(table(5, 'y', 2));
    expect(['a', 'x', 'y'].map(idOf)).to.deep.equal([undefined, 1, 5]);
    expect(tables.ofDatabase('public').map(({ name }) => name)).to.deep.equal(['x', 'y']);
  });

  it('resolve a name that was dropped and recreated to the newer table', () => {
    tables.put(table(7, 'm'));
    tables.put(table(3, 'm'));
    expect(idOf('m')).to.equal(7);
    tables.drop(3);
    expect(idOf('m')).to.equal(7);
    expect(tables.put(table(3, 'm', 2))).to.equal(false);
    tables.drop(7);
    expect(idOf('m')).to.equal(undefined);
    expect(tables.ofDatabase('public')).to.deep.equal([]);
  });

  it('do not return to an older version', () => {
    tables.put(table(1, 'b', 2));
    expect(tables.put(table(1, 'a', 1))).to.equal(false);
    expect(idOf('b')).to.equal(1);
  });
});
