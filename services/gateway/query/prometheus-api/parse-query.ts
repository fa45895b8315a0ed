import { namedResult } from '../prom-parameters.js';
import type { PromEndpoint } from './endpoint.js';

/** Return a formatted query, and the syntax tree of a query. */
export const [formatQuery, parseQuery] = (['format', 'tree'] as const).map((kind): PromEndpoint => ({
  methods: ['GET', 'POST'],
  path: kind === 'format' ? '/format_query' : '/parse_query',
  run: ({ form, call }, { querier }) => ({
    texts: namedResult('query', querier.promParse({ query: form.value('query'), kind }, call)),
  }),
}));
