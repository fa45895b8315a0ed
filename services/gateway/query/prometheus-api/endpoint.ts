import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';
import type { PromText, QuerierService } from '#shared/contracts/gen/querier';
import type { NodeAdmin } from '../../admin/endpoint.js';
import type { PromForm } from '../prom-form.js';

export interface PromEndpointDeps {
  readonly config: Config;
  readonly querier: QuerierService;
  readonly admin: NodeAdmin;
  readonly nowMs: () => number;
}

/** A request with its parameters. */
export interface PromRequest {
  readonly form: PromForm;
  readonly database: string;
  /** Still percent-encoded. */
  readonly path: string;
  readonly call: Call;
}

/** The whole text of an answer, in pieces, or the data of one that is made here. */
export type PromReply = { readonly pieces: AsyncIterable<PromText> } | { readonly data: unknown };

/** One path of Prometheus's HTTP API. */
export interface PromEndpoint {
  readonly methods: readonly ('GET' | 'POST')[];
  /** Below `/api/v1`. */
  readonly path: string;
  /** Whether it can be answered while there is no data yet. */
  readonly needsNoData?: boolean;
  /** @throws what the client is told; `invalid_arguments`, `invalid_syntax` for parameters. */
  readonly answer: (request: PromRequest, deps: PromEndpointDeps) => PromReply | Promise<PromReply>;
}
