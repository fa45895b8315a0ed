import type { QuerierService } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';

function unsupported(): never {
  throw new AlmanacError('unsupported', 'not part of this test');
}

/** The service with the methods that a test needs. */
export function partialQuerier(methods: Partial<QuerierService>): QuerierService {
  return {
    sql: unsupported,
    sqlParse: unsupported,
    promQuery: unsupported,
    promTable: unsupported,
    promSeries: unsupported,
    promParse: unsupported,
    promRead: unsupported,
    ...methods,
  };
}
