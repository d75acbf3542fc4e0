// Requests to this server. Addresses are relative to the console's own, so that it works behind any
// prefix and any proxy.

import { t } from './text.js';

/** Where the routes are. */
export const BASE = new URL('..', import.meta.url);

const KEPT = 'quillet.token';
let asking = null;

/** Whoever asks for a token when one is needed; set by the shell. */
export const hooks = { askToken: async () => null };

export function token() {
  return sessionStorage.getItem(KEPT) ?? '';
}

/** Keeps a token for this tab. */
export function keepToken(value) {
  if (value) sessionStorage.setItem(KEPT, value);
  else sessionStorage.removeItem(KEPT);
}

/** What the server refused. */
export class Refused extends Error {
  constructor(status, problem) {
    super(said(problem) ?? problem.error?.message ?? problem.message ?? `${status}`);
    this.status = status;
    this.problem = problem;
    this.code = typeof problem.error === 'string' ? problem.error : (problem.error?.code ?? '');
    this.hint = problem.hint ?? '';
  }
}

/** What a problem says; agents' routes list all that is wrong with a request. */
function said({ detail }) {
  if (!Array.isArray(detail)) return detail;
  return detail.map((one) => `${(one.loc ?? []).join('.')}: ${one.msg}`).join('\n');
}

/** Encodes the parts of a path: ids may hold anything. */
export function path(parts, ...values) {
  return parts.reduce((all, part, at) => all + encodeURIComponent(values[at - 1]) + part);
}

/**
 * Asks. `body` is sent as JSON unless it is a text. Gives the response of a success; a 401 asks for a
 * token and tries again.
 */
export async function ask(method, where, { body, headers, signal, type } = {}) {
  for (;;) {
    const sent = token();
    const response = await fetch(new URL(where, BASE), {
      method,
      signal,
      cache: 'no-store',
      headers: {
        // The browser names the type of a form, with what is between its parts.
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

/** Whether there is another token than the one that was refused. One dialog serves all requests. */
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

/** The events of a stream: `{event, id, data}`, data as JSON where it is some. */
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

/** What to say of a failure. */
export function reason(error) {
  if (error.name === 'AbortError') return t('Stopped.');
  if (error instanceof TypeError) return t('The server does not answer: {why}', { why: error.message });
  return error.message;
}
