import type { Span } from '../syntax/ast.js';
import { METRIC_NAME, type Labels } from '../../series/labels.js';

/** Most annotations of a kind that an answer names. */
const SHOWN_MAX = 10;

/** Most that are told apart: a query may say something of each of its steps. */
const KEPT_MAX = 10_000;

/** Warnings and infos of one query; equal ones count once. */
export class Annotations {
  readonly #query: string;
  /** Position by text; the last one counts. */
  readonly #warnings = new Map<string, number>();
  readonly #infos = new Map<string, number>();
  /** How often warnings that say so were met. */
  readonly #occurrences = new Map<string, number>();

  constructor(query: string) {
    this.#query = query;
  }

  /** A warning of the node that starts there. */
  warn(text: string, { start }: Pick<Span, 'start'>): void {
    keep(this.#warnings, `PromQL warning: ${text}`, start);
  }

  /** A warning that tells how often it was met, if that was more than once. */
  warnCounted(text: string, at: Pick<Span, 'start'>): void {
    const key = `PromQL warning: ${text}`;
    this.#occurrences.set(key, (this.#occurrences.get(key) ?? 0) + 1);
    this.warn(text, at);
  }

  /** An info of the node that starts there. */
  info(text: string, { start }: Pick<Span, 'start'>): void {
    keep(this.#infos, `PromQL info: ${text}`, start);
  }

  /** As they are shown: with the place, the first ten. */
  get warnings(): string[] {
    return this.#shown(this.#warnings, 'warning');
  }

  /** As `warnings`. */
  get infos(): string[] {
    return this.#shown(this.#infos, 'info');
  }

  #shown(all: ReadonlyMap<string, number>, kind: string): string[] {
    const texts = Array.from(all, ([text, start]) => `${text}${this.#times(text)} (${this.#place(start)})`);
    const rest = texts.length - SHOWN_MAX;
    return rest > 0 ? [...texts.slice(0, SHOWN_MAX), `${rest} more ${kind} annotations omitted`] : texts;
  }

  #times(text: string): string {
    const count = this.#occurrences.get(text) ?? 1;
    return count > 1 ? ` (${count} occurrences)` : '';
  }

  #place(start: number): string {
    const before = this.#query.slice(0, start);
    const line = before.split('\n').length;
    return `${line}:${Buffer.byteLength(before.slice(before.lastIndexOf('\n') + 1)) + 1}`;
  }
}

function keep(all: Map<string, number>, text: string, start: number): void {
  if (all.size < KEPT_MAX || all.has(text)) all.set(text, start);
}

/** The metric name of a series; empty if it has none. */
export function metricName(labels: Labels | undefined): string {
  return labels?.get(METRIC_NAME) ?? '';
}
