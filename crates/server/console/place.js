// Where the routes of the document are. `server.prefix` stands before all of them but those for
// probes and counters, which stay at the server's root.

import { BASE, get } from './api.js';

const DOCUMENT = '/openapi.json';

/** The prefix that this document's own path has. */
export function prefixOf(api) {
  const own = Object.keys(api.paths).find((path) => path.endsWith(DOCUMENT)) ?? DOCUMENT;
  return own.slice(0, -DOCUMENT.length);
}

/** The address of a path of the document, through whatever proxy this page came. */
export function place(prefix, path) {
  if (path.startsWith(`${prefix}/`)) return new URL(path.slice(prefix.length + 1), BASE);
  const here = BASE.pathname;
  const root = here.endsWith(`${prefix}/`) ? here.slice(0, -prefix.length) : here;
  return new URL(root + path.slice(1), BASE);
}

/** The address of a route at the server's root. */
export async function atRoot(path, signal) {
  if (BASE.pathname === '/') return new URL(path, BASE);
  return place(prefixOf(await get('openapi.json', { signal })), path);
}
