import { ANY_VALUE, TEXT } from '../../openapi/schemas.js';
import { inQuery } from '../../openapi/parameters.js';
import { namedResult } from '../prom-parameters.js';
import { PROM_QUERY, promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

const EXAMPLE = { parameters: { query: 'sum by (job)(up)' } };

/** Returns a formatted query. */
export const formatQuery: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/format_query',
  doc: promDoc({ summary: 'Formats a query', parameters: [PROM_QUERY], data: TEXT, example: EXAMPLE }),
  run: ({ form, call }, { querier }) => ({
    texts: namedResult('query', querier.promParse({ query: form.value('query'), kind: 'format' }, call)),
  }),
};

/** Returns the syntax tree of a query. */
export const syntaxTree: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/parse_query',
  doc: promDoc({
    summary: 'Returns the syntax tree of a query',
    parameters: [PROM_QUERY, inQuery('positions', '`true`: each node has `start` and `end`, in UTF-16 units.')],
    data: ANY_VALUE,
    example: EXAMPLE,
  }),
  run: ({ form, call }, { querier }) => {
    const kind = form.value('positions') === 'true' ? 'positions' : 'tree';
    return { texts: namedResult('query', querier.promParse({ query: form.value('query'), kind }, call)) };
  },
};
