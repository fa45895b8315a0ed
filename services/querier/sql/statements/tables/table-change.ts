import type { Table } from '#shared/contracts/gen/common';
import type { AlterTableRequest } from '#shared/contracts/gen/metadata';
import type { Zone } from '#shared/time/zone';

import type { ObjectName } from '../../syntax/cursor.js';

/** The members of a table that ALTER changes. */
export type AlteredTable = Omit<AlterTableRequest, 'tableId' | 'schemaVersion'>;

/** One change of a table, applied to the result of the preceding changes. */
export interface TableChange {
  /** Whether stored rows must be flushed to segments first. */
  readonly isOfOldRows?: boolean;
  /** New name of the table; it stays in its database. */
  readonly newName?: ObjectName;
  /** Whether logical tables of metrics have this change too. */
  readonly isOfLogicalTables?: boolean;
  /** @param fullName name of the table for messages. */
  apply(form: AlteredTable, table: Table, zone: Zone, fullName: string): AlteredTable;
}
