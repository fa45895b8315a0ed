import { createHash } from 'node:crypto';

import type { HttpReply } from './reply.js';

/** A link of a page. */
export interface PageLink {
  readonly href: string;
  readonly text: string;
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#222;background:#fff}' +
  '@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8ab4f8}}';
/** Allows nothing but the one inline style. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

/** Makes a page with a heading, the version and links. */
export function htmlPage(title: string, version: string, links: readonly PageLink[]): HttpReply {
  const items = links.map(({ href, text }) => `<li><a href="${escaped(href)}">${escaped(text)}</a></li>`).join('');
  const head = `<meta charset="utf-8"><title>${escaped(title)}</title><style>${STYLE}</style>`;
  const body = `<h1>${escaped(title)}</h1><p>Version ${escaped(version)}</p><ul>${items}</ul>`;
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    },
    body: `<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>\n`,
  };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
