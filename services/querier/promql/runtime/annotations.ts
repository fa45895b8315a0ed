import { type Labels } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import type { Span } from '../syntax/ast.js';

/** Annotation about a range or group that has both kinds of samples. */
export const MIXED_KINDS = 'encountered a mix of histograms and floats';
/** Annotation about histograms whose buckets cannot be combined. */
export const MIXED_SCHEMAS = 'vector contains a mix of histograms with exponential and custom buckets schemas';

/** Largest number of annotations of a kind in a result. */
const SHOWN_MAX = 10;

/** Largest number of distinct annotations of a kind that are kept; a query may add one per step. */
const KEPT_MAX = 10_000;

/** The warnings and infos of one query, without duplicates. */
export class Annotations {
  readonly #query: string;
  /** Position by text; the last position wins. */
  readonly #warnings = new Map<string, number>();
  readonly #infos = new Map<string, number>();
  /** Number of occurrences of counted warnings. */
  readonly #occurrences = new Map<string, number>();

  constructor(query: string) {
    this.#query = query;
  }

  /** Adds a warning about a node of the expression. */
  warn(text: string, { start }: Pick<Span, 'start'>): void {
    keep(this.#warnings, `PromQL warning: ${text}`, start);
  }

  /** Adds a warning that shows its number of occurrences if there are several. */
  warnCounted(text: string, at: Pick<Span, 'start'>): void {
    const key = `PromQL warning: ${text}`;
    this.#occurrences.set(key, (this.#occurrences.get(key) ?? 0) + 1);
    this.warn(text, at);
  }

  /** Adds an info about a node of the expression. */
  info(text: string, { start }: Pick<Span, 'start'>): void {
    keep(this.#infos, `PromQL info: ${text}`, start);
  }

  /** The first ten warnings, each with its position. */
  get warnings(): string[] {
    return this.#shown(this.#warnings, 'warning');
  }

  /** The first ten infos, each with its position. */
  get infos(): string[] {
    return this.#shown(this.#infos, 'info');
  }

  #shown(all: ReadonlyMap<string, number>, kind: string): string[] {
    const texts = Array.from(all, ([text, start]) => `${text}${this.#count(text)} (${this.#position(start)})`);
    const rest = texts.length - SHOWN_MAX;
    return rest > 0 ? [...texts.slice(0, SHOWN_MAX), `${rest} more ${kind} annotations omitted`] : texts;
  }

  #count(text: string): string {
    const count = this.#occurrences.get(text) ?? 1;
    return count > 1 ? ` (${count} occurrences)` : '';
  }

  #position(start: number): string {
    const before = this.#query.slice(0, start);
    const line = before.split('\n').length;
    return `${line}:${Buffer.byteLength(before.slice(before.lastIndexOf('\n') + 1)) + 1}`;
  }
}

function keep(all: Map<string, number>, text: string, start: number): void {
  if (all.size < KEPT_MAX || all.has(text)) all.set(text, start);
}

/** Returns the metric name of a series, empty if it has none. */
export function metricName(labels: Labels | undefined): string {
  return labels?.get(METRIC_NAME) ?? '';
}

/** Returns the metric name as annotations show it. */
export function quotedMetricName(labels: Labels): string {
  return JSON.stringify(metricName(labels));
}
