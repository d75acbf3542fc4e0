// Requests to the server. URLs are relative to the console's own URL, so the console works behind any
// prefix and proxy.

import { t } from './text.js';

/** Base URL of the routes. */
export const BASE = new URL('..', import.meta.url);

const KEPT = 'quillet.token';
let asking = null;

/** The shell sets `askToken`, which asks the user for a token. */
export const hooks = { askToken: async () => null };

export function token() {
  return sessionStorage.getItem(KEPT) ?? '';
}

/** Stores a token for this tab. */
export function keepToken(value) {
  if (value) sessionStorage.setItem(KEPT, value);
  else sessionStorage.removeItem(KEPT);
}

/** An error response of the server. */
export class Refused extends Error {
  constructor(status, problem) {
    super(said(problem) ?? problem.error?.message ?? problem.message ?? `${status}`);
    this.status = status;
    this.problem = problem;
    this.code = typeof problem.error === 'string' ? problem.error : (problem.error?.code ?? '');
    this.hint = problem.hint ?? '';
  }
}

/** Returns the message of an error response. Agent routes return a list of errors. */
function said({ detail }) {
  if (!Array.isArray(detail)) return detail;
  return detail.map((one) => `${(one.loc ?? []).join('.')}: ${one.msg}`).join('\n');
}

/** Encodes the values in a path. IDs can contain any character. */
export function path(parts, ...values) {
  return parts.reduce((all, part, at) => all + encodeURIComponent(values[at - 1]) + part);
}

/**
 * Sends a request. A `body` that is not a string is sent as JSON. Returns a successful response. After a
 * 401 it asks for a token and retries.
 */
export async function ask(method, where, { body, headers, signal, type } = {}) {
  for (;;) {
    const sent = token();
    const response = await fetch(new URL(where, BASE), {
      method,
      signal,
      cache: 'no-store',
      headers: {
        // The browser sets the content type and boundary of a form.
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': type ?? 'application/json' }),
        ...(sent ? { authorization: `Bearer ${sent}` } : {}),
        ...headers,
      },
      body: body === undefined || typeof body === 'string' || body instanceof FormData ? body : JSON.stringify(body),
    });
    if (response.ok) return response;
    const text = await response.text();
    let problem;
    try {
      problem = JSON.parse(text);
    } catch {
      problem = { detail: text || `${response.status} ${response.statusText}` };
    }
    if (response.status === 401 && (await retry(sent))) continue;
    throw new Refused(response.status, problem);
  }
}

/** Returns whether a token other than the rejected one is available. All requests share one dialog. */
async function retry(refused) {
  if (token() !== refused) return true;
  asking ??= hooks.askToken(refused !== '').finally(() => (asking = null));
  const given = await asking;
  if (given === null || given === undefined) return false;
  keepToken(given);
  return true;
}

export async function get(where, options) {
  return (await ask('GET', where, options)).json();
}

export async function send(method, where, body, options) {
  const response = await ask(method, where, { ...options, body });
  return response.status === 204 ? null : response.json();
}

/** Yields the events of a stream as `{event, id, data}`. Parses `data` if it is JSON. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      rest += value.replace(/\r\n?/g, '\n');
      const blocks = rest.split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const found = parsed(block);
        if (found) yield found;
      }
    }
    const last = parsed(rest);
    if (last) yield last;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parsed(block) {
  let event = 'message';
  let id = '';
  const data = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) event = line.slice(6).trim();
    else if (line.startsWith('id:')) id = line.slice(3).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  if (data.length === 0) return null;
  const text = data.join('\n');
  if (text === '[DONE]') return { event: 'done', id, data: null };
  try {
    return { event, id, data: JSON.parse(text) };
  } catch {
    return { event, id, data: text };
  }
}

/** Returns the message to show for an error. */
export function reason(error) {
  if (error.name === 'AbortError') return t('Stopped.');
  if (error instanceof TypeError) return t('Cannot reach the server: {why}', { why: error.message });
  return error.message;
}
