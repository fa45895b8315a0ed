import { ANY_VALUE, TEXT } from '../../openapi/schemas.js';
import { namedResult } from '../prom-parameters.js';
import { PROM_QUERY, promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

/** Return a formatted query, and the syntax tree of a query. */
export const [formatQuery, parseQuery] = (['format', 'tree'] as const).map((kind): PromEndpoint => ({
  methods: ['GET', 'POST'],
  path: kind === 'format' ? '/format_query' : '/parse_query',
  doc: promDoc({
    summary: kind === 'format' ? 'Formats a query' : 'Returns the syntax tree of a query',
    parameters: [PROM_QUERY],
    data: kind === 'format' ? TEXT : ANY_VALUE,
    example: { parameters: { query: 'sum by (job)(up)' } },
  }),
  run: ({ form, call }, { querier }) => ({
    texts: namedResult('query', querier.promParse({ query: form.value('query'), kind }, call)),
  }),
}));
