import { expect } from 'chai';

import { describeCalls, grafanaHeaders, type RecordedCall } from '#test/support/recorded-calls';
import { SPANS_START_US, spansRequest } from '#test/support/spans';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const END_US = SPANS_START_US + 60_000_000;
const RANGE = `start=${SPANS_START_US - 60_000_000}&end=${END_US}`;
const EMPTY = { data: [], total: 0, limit: 0, offset: 0, errors: [] };

interface Reply {
  readonly data: never;
  readonly errors: readonly { readonly code: number; readonly msg: string }[];
}

const found =
  (check: (data: never) => void): NonNullable<RecordedCall['holds']> =>
  (reply) => {
    const { data, errors } = reply.json() as Reply;
    expect(errors).to.deep.equal([]);
    check(data);
  };

const isEmpty: NonNullable<RecordedCall['holds']> = (reply) => {
  expect(reply.json()).to.deep.equal(EMPTY);
};

const CALLS: readonly RecordedCall[] = [
  {
    purpose: 'saves and tests the data source',
    path: '/api/services',
    holds: found((services: string[]) => expect(services).to.deep.equal(['shop / web', 'store'])),
  },
  {
    purpose: 'lists operations of a service',
    path: `/api/services/${encodeURIComponent('shop / web')}/operations`,
    holds: found((operations: string[]) => expect(operations).to.deep.equal(['GET /orders'])),
  },
  { purpose: 'lists operations of an unknown service', path: '/api/services/none/operations', holds: isEmpty },
  {
    purpose: 'searches',
    path: `/api/traces?limit=20&${RANGE}&maxDuration=1s&minDuration=1ms&operation=GET+%2Forders&service=shop+%2F+web&tags=${encodeURIComponent('{"http.method":"GET","error":"true"}')}`,
    holds: found((traces: { traceID: string; spans: unknown[]; processes: object }[]) => {
      expect(traces.map(({ traceID, spans }) => [traceID, spans.length])).to.deep.equal([[TRACE, 12]]);
      expect(Object.keys(traces[0].processes)).to.have.length(2);
    }),
  },
  { purpose: 'searches without a result', path: `/api/traces?limit=20&${RANGE}&service=none`, holds: isEmpty },
  {
    purpose: 'shows a trace',
    path: `/api/traces/${TRACE}`,
    holds: found((traces: { spans: { startTime: number; duration: number }[] }[]) => {
      expect(traces).to.have.length(1);
      expect(traces[0].spans[0]).to.include({ startTime: SPANS_START_US, duration: 5_000 });
    }),
  },
  {
    purpose: 'shows a trace of the chosen time',
    path: `/api/traces/${TRACE}?${RANGE}`,
    holds: found((traces: unknown[]) => expect(traces).to.have.length(1)),
  },
  {
    // Grafana takes the first trace of a successful reply without looking whether there is one.
    purpose: 'shows an unknown trace',
    path: '/api/traces/ffffffffffffffffffffffffffffffff',
    status: 404,
    holds: (reply) => expect((reply.json() as Reply).errors).to.deep.equal([{ code: 404, msg: 'trace not found' }]),
  },
  {
    purpose: 'draws the graph of services',
    path: `/api/dependencies?endTs=${END_US / 1_000}&lookback=120000`,
    holds: found((calls: unknown) => {
      expect(calls).to.deep.equal([{ parent: 'shop / web', child: 'store', callCount: 11 }]);
    }),
  },
  {
    purpose: 'draws the graph of no services',
    path: '/api/dependencies?endTs=1000000&lookback=1000',
    holds: isEmpty,
  },
];

describeCalls("Grafana's Jaeger data source", {
  base: '/v1/jaeger',
  headers: grafanaHeaders(),
  calls: CALLS,
  async seed(send) {
    const root = {
      ...{ trace: TRACE, span: 'b7ad6b7169203331', service: 'shop / web', name: 'GET /orders', kind: 2 },
      durationUs: 5_000,
      attributes: { 'http.method': { stringValue: 'GET' } },
      more: { status: { code: 2 } },
    };
    const children = Array.from({ length: 11 }, (_none, i) => ({
      ...{ trace: TRACE, span: `b7ad6b71692033${40 + i}`, parent: root.span, service: 'store', name: 'query' },
      startUs: 100 * (i + 1),
    }));
    await send('/v1/otlp/v1/traces', spansRequest([root, ...children]), { 'content-type': 'application/json' });
  },
});
