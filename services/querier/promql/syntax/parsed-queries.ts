import type { Expr } from './ast.js';
import { parseQuery, type Dialect } from './parse.js';

/** Number of queries that are kept: those of some dashboards. */
const QUERIES_MAX = 256;
/** Longer queries are parsed each time. */
const QUERY_CHARS_MAX = 4096;

/**
 * Parses queries, and keeps the last ones: a dashboard repeats its queries. The same query has the same nodes, so that what
 * is computed from a node can be kept with it.
 */
export class ParsedQueries {
  readonly #dialect: Dialect;
  /** Least recently used first. */
  readonly #queries = new Map<string, Expr>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Returns the parsed query. @throws as `parseQuery`. */
  of(query: string): Expr {
    const known = this.#queries.get(query);
    const expr = known ?? parseQuery(query, this.#dialect);
    if (query.length > QUERY_CHARS_MAX) return expr;
    if (known !== undefined) this.#queries.delete(query);
    this.#queries.set(query, expr);
    if (this.#queries.size > QUERIES_MAX) {
      for (const oldest of this.#queries.keys()) {
        this.#queries.delete(oldest);
        break;
      }
    }
    return expr;
  }
}
