import { namedAnswer } from '../prom-parameters.js';
import type { PromEndpoint } from './endpoint.js';

/** The text of a query as it is best read, and the tree of a query. */
export const [formatQuery, parseQuery] = (['format', 'tree'] as const).map((kind): PromEndpoint => ({
  methods: ['GET', 'POST'],
  path: kind === 'format' ? '/format_query' : '/parse_query',
  answer: ({ form, call }, { querier }) => ({
    pieces: namedAnswer('query', querier.promParse({ query: form.value('query'), kind }, call)),
  }),
}));
