import type { Config } from '#shared/config/schema';
import type { Call } from '#shared/contracts/call';
import type { PromText, QuerierService } from '#shared/contracts/gen/querier';
import type { NodeAdmin } from '../../admin/endpoint.js';
import type { RouteDoc } from '../../openapi/route-doc.js';
import type { PromForm } from '../prom-form.js';

/** Dependencies of the endpoints. */
export interface PromEndpointDeps {
  readonly config: Config;
  readonly querier: QuerierService;
  readonly admin: NodeAdmin;
  readonly nowMs: () => number;
}

/** A request with its parameters. */
export interface PromApiRequest {
  readonly form: PromForm;
  readonly database: string;
  /** Percent-encoded, as in the request. */
  readonly path: string;
  readonly call: Call;
}

/** The whole text of a response, in chunks, or the member `data` of one. */
export type PromApiResult = { readonly texts: AsyncIterable<PromText> } | { readonly data: unknown };

/** One path of Prometheus's HTTP API. */
export interface PromEndpoint {
  readonly methods: readonly ('GET' | 'POST')[];
  /** Below `/api/v1`. */
  readonly path: string;
  /** Whether the endpoint works while the node starts. */
  readonly needsNoData?: boolean;
  /** @throws `invalid_arguments`, `invalid_syntax` for parameters that are not valid. */
  readonly run: (request: PromApiRequest, deps: PromEndpointDeps) => PromApiResult | Promise<PromApiResult>;
  readonly doc: RouteDoc;
}
