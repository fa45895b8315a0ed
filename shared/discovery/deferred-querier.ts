import type { AnyQuerier, LocalQuerier } from '#shared/contracts/local-querier';

/** Wraps a querier that may not exist yet. @param querier throws until it does. */
export function deferredQuerier(querier: () => AnyQuerier): LocalQuerier {
  return {
    async *sql(request, call) {
      yield* querier().sql(request, call);
    },
    sqlNow(request, call) {
      const started = querier();
      return started.sqlNow?.(request, call) ?? started.sql(request, call);
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
