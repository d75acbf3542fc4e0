// URLs of the routes in the OpenAPI document. All routes are below `server.prefix`, except probes and
// metrics, which stay at the server's root.

import { BASE, get } from './api.js';

const DOCUMENT = '/openapi.json';

/** Returns the prefix, from the path of the document itself. */
export function prefixOf(api) {
  const own = Object.keys(api.paths).find((path) => path.endsWith(DOCUMENT)) ?? DOCUMENT;
  return own.slice(0, -DOCUMENT.length);
}

/** Returns the URL of a path in the document, through the same proxy as this page. */
export function place(prefix, path) {
  if (path.startsWith(`${prefix}/`)) return new URL(path.slice(prefix.length + 1), BASE);
  const here = BASE.pathname;
  const root = here.endsWith(`${prefix}/`) ? here.slice(0, -prefix.length) : here;
  return new URL(root + path.slice(1), BASE);
}

/** Returns the URL of a route at the server's root. */
export async function atRoot(path, signal) {
  if (BASE.pathname === '/') return new URL(path, BASE);
  return place(prefixOf(await get('openapi.json', { signal })), path);
}
