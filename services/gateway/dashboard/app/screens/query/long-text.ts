/** Longer texts would make a URL that some programs cut. */
const PLAIN_LENGTH_MAX = 1500;
/** Texts in links are unpacked before anyone has seen them. */
const UNPACKED_BYTES_MAX = 4 * 1024 * 1024;

/** Whether a text is too long for the query string. */
export function isLong(text: string): boolean {
  return encodeURIComponent(text).length > PLAIN_LENGTH_MAX;
}

/** Compresses a text for the fragment of a URL, which no server sees. */
export async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Returns the text of a fragment; undefined if it is none, or too long. */
export async function unpacked(text: string): Promise<string | undefined> {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (unit) => unit.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
    const decoder = new TextDecoder();
    let [result, byteCount] = ['', 0];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return result + decoder.decode();
      byteCount += value.length;
      if (byteCount > UNPACKED_BYTES_MAX) return undefined;
      result += decoder.decode(value, { stream: true });
    }
  } catch {
    return undefined;
  }
}
