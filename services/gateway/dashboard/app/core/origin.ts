/** Path of the folder that has `v1/` and `dashboard/`, with slashes at both ends: the app works below any path prefix. */
export const BASE_PATH = baseOf(location.pathname);

/** The same as a URL, for commands that people copy. */
export const SERVER_URL = new URL(BASE_PATH, location.origin).href.replace(/\/$/, '');

function baseOf(path: string): string {
  const at = path.indexOf('/dashboard/');
  return at < 0 ? '/' : path.slice(0, at + 1);
}
