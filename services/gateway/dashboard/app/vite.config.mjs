import { defineConfig } from 'vite';

/** Paths of the server, for `npm run dev:dashboard`. */
const SERVED = ['/v1', '/status', '/ready', '/metrics', '/config', '/debug'];
const SERVER = 'http://127.0.0.1:4000';

export default defineConfig({
  root: import.meta.dirname,
  // Relative links work below any path prefix of a proxy.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    // These have `light-dark()`. For older ones it would be lowered to the theme of the system, which ignores the user's.
    cssTarget: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    // The content security policy allows neither inline scripts nor `data:` URLs in them.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    chunkSizeWarningLimit: 1000,
    reportCompressedSize: false,
    rolldownOptions: {
      checks: { bundlerTimings: false },
      output: {
        // The editor is shared by screens that have other languages, charts by those that draw other data.
        codeSplitting: {
          groups: [
            // What the page starts with must not be part of what only some screens need.
            { name: 'frame', tags: ['$initial'], priority: 2 },
            { name: 'common', test: /app\/(format|time|widgets\/(copy-text|grid|save-file))/, priority: 1 },
            {
              name: 'editor',
              test: /node_modules\/(@codemirror\/(?!lang-)|@lezer\/(common|highlight|lr)\/|style-mod|w3c-keyname|crelt|@marijn)/,
            },
            { name: 'chart', test: /node_modules\/uplot|widgets\/chart\/(?!picture)/ },
          ],
        },
      },
    },
  },
  server: { proxy: Object.fromEntries(SERVED.map((path) => [path, SERVER])) },
});
