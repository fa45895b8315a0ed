import type { QuerierService } from '#shared/contracts/gen/querier';

/** Wraps a querier that may not exist yet. @param querier throws until it does. */
export function deferredQuerier(querier: () => QuerierService): QuerierService {
  return {
    async *sql(request, call) {
      yield* querier().sql(request, call);
    },
    async *sqlParse(request, call) {
      yield* querier().sqlParse(request, call);
    },
    async *promQuery(request, call) {
      yield* querier().promQuery(request, call);
    },
    async *promTable(request, call) {
      yield* querier().promTable(request, call);
    },
    async *promSeries(request, call) {
      yield* querier().promSeries(request, call);
    },
    async *promParse(request, call) {
      yield* querier().promParse(request, call);
    },
    async *promRead(request, call) {
      yield* querier().promRead(request, call);
    },
  };
}
