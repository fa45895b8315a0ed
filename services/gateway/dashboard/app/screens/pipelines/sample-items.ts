/** Items of a dry run, and where the text is wrong. */
export interface SampleItems {
  readonly items: readonly unknown[];
  readonly error: string;
  /** Items beyond those that a dry run takes. */
  readonly leftOut: number;
}

/** Items that the server takes. */
const ITEMS_MAX = 10;

/** Reads samples: a list of JSON, JSON on each line, or lines of text, of which each is an item with the field `message`. */
export function sampleItems(text: string): SampleItems {
  const trimmed = text.trim();
  if (trimmed === '') return { items: [], error: '', leftOut: 0 };
  if (trimmed.startsWith('[')) {
    const whole = parsed(trimmed);
    if (Array.isArray(whole)) return limited(whole);
  }
  const lines = trimmed.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (!trimmed.startsWith('{')) return limited(lines.map((message) => ({ message })));
  const single = parsed(trimmed);
  if (single !== undefined) return limited([single]);
  const items: unknown[] = [];
  for (const [i, line] of lines.entries()) {
    const item = parsed(line);
    if (item === undefined) return { items: [], error: `Line ${i + 1} is not JSON.`, leftOut: 0 };
    items.push(item);
  }
  return limited(items);
}

function limited(items: readonly unknown[]): SampleItems {
  return { items: items.slice(0, ITEMS_MAX), error: '', leftOut: Math.max(0, items.length - ITEMS_MAX) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
