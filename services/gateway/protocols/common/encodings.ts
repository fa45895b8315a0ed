/** Content encodings that every protocol accepts whose senders do not agree on one. */
export const ENCODINGS = ['gzip', 'deflate', 'zstd', 'br'] as const;
