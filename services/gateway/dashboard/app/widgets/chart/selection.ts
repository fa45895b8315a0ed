const ONLY = 'only.';
const NOTHING: ReadonlySet<string> = new Set();

/**
 * Returns the keys of series that a selection hides. It lists short hashes of the hidden ones, or, after `only.`, of those
 * that are shown, so that it fits into a link whatever is chosen.
 */
export function hiddenKeys(selection: string, keys: readonly string[]): ReadonlySet<string> {
  if (selection === '') return NOTHING;
  const isOnly = selection.startsWith(ONLY);
  const listed = new Set((isOnly ? selection.slice(ONLY.length) : selection).split('.'));
  const hidden = keys.filter((key) => listed.has(hashOf(key)) !== isOnly);
  // The selection was made among other series.
  return hidden.length === keys.length ? NOTHING : new Set(hidden);
}

/** Returns the shorter selection that hides some of the keys; empty if it hides none, or all. */
export function selectionText(hidden: ReadonlySet<string>, keys: readonly string[]): string {
  const isHidden = (key: string): boolean => hidden.has(key);
  const off = keys.filter(isHidden);
  if (off.length === 0 || off.length === keys.length) return '';
  if (off.length * 2 <= keys.length) return off.map(hashOf).join('.');
  return (
    ONLY +
    keys
      .filter((key) => !isHidden(key))
      .map(hashOf)
      .join('.')
  );
}

/** FNV-1a with 32 bits, over UTF-16 units. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}
