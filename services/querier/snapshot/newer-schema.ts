import type { Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';

/** A field has values of a type that is not known here yet: the table has another form than the query was planned by. */
export class NewerSchema extends AlmanacError {
  readonly tableId: number;

  constructor({ name, tableId }: Table) {
    super('region_not_ready', `table "${name}" was altered while it was read`, { retryAfterSeconds: 1 });
    this.tableId = tableId;
  }
}
