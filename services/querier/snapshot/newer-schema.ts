import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';

/** A field has values of an unknown type: the table was altered after the query was planned. The query is retried. */
export class NewerSchema extends AlmanacError {
  readonly tableId: number;

  constructor({ name, tableId }: Table) {
    super('region_not_ready', `table "${name}" was altered while it was read`, { retryAfterSeconds: 1 });
    this.tableId = tableId;
  }
}
