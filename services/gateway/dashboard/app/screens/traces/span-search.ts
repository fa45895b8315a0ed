import { yieldToPage } from '../../core/yield.js';
import type { JaegerTag, SpanTree } from './span-tree.js';

/** Spans that are looked at before the page may do something else. */
const SLICE = 4000;

/** Returns the nodes whose operation, service, ID, tags or events have a text, whatever its letter case. */
export async function findSpans(tree: SpanTree, text: string, signal: AbortSignal): Promise<number[]> {
  const wanted = text.trim().toLowerCase();
  const found: number[] = [];
  if (wanted === '') return found;
  for (let i = 0; i < tree.nodes.length; i++) {
    if (i % SLICE === SLICE - 1) await yieldToPage();
    if (signal.aborted) break;
    const { span, service } = tree.nodes[i];
    const isFound =
      has(span.operationName, wanted) ||
      has(service, wanted) ||
      span.spanID.includes(wanted) ||
      hasTag(span.tags, wanted) ||
      span.logs.some(({ fields }) => hasTag(fields, wanted));
    if (isFound) found.push(i);
  }
  return found;
}

function hasTag(tags: readonly JaegerTag[], wanted: string): boolean {
  return tags.some(({ key, value }) => has(`${key}=${tagText(value)}`, wanted));
}

function has(text: string, wanted: string): boolean {
  return text.toLowerCase().includes(wanted);
}

/** Returns the value of a tag as text. */
export function tagText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
