// Reads the stream of an answer and reconnects if the connection is lost.

import { ask, events, get, path as at, Refused } from './api.js';
import { ENDS } from './answer.js';

/** Pauses before each reconnect, in ms. About two minutes in total. */
const PAUSES = [200, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 15_000, 15_000, 30_000, 30_000];

/**
 * Reads the response of `begin()` and any resumed streams until the answer ends. Updates `state`: `id`
 * (of the request or answer) and `last` (number of the latest event). `take(event, data)` receives each
 * event once. `lost(attempt)` is called for each reconnect, and with 0 when the connection is restored.
 */
export async function follow(begin, state, { take, lost, signal }) {
  let response = null;
  let attempt = 0;
  for (;;) {
    try {
      response = attempt === 0 && begin ? await begin() : await takeUp(state, signal);
      if (attempt > 0) lost(0);
      for await (const { event, id, data } of events(response)) {
        attempt = 0;
        // Event numbers of a run only increase. Skip events received before the connection was lost.
        if (id && Number(id) <= state.last) continue;
        if (id) state.last = Number(id);
        if (event === 'response.start' && data?.id) state.id = data.id;
        take(event, data);
        if (ENDS.includes(event)) return;
      }
    } catch (error) {
      if (signal.aborted) throw error;
      // An error response is final, unless the server is not ready yet or no process has resumed
      // the run yet.
      if (error instanceof Refused && error.status === 404) {
        const run = await journalled(state, signal);
        if (!run) throw error;
        if (run.state === 'ended' || run.state === 'waiting') return recall(run, take);
      } else if (error instanceof Refused && error.status !== 503) throw error;
      if (error.name === 'AbortError') throw error;
      if (attempt >= PAUSES.length) throw error;
    }
    if (attempt >= PAUSES.length) throw new TypeError('the stream keeps ending early');
    attempt += 1;
    begin = null;
    lost(attempt);
    await pause(PAUSES[attempt - 1], signal);
  }
}

/** Returns the journal of the run, or null. */
function journalled(state, signal) {
  return get(at`v1/runs/${state.id}`, { signal }).catch(() => null);
}

/** Restores the end of a run from its journal if its events are no longer stored. */
function recall(run, take) {
  const steps = run.journal ?? [];
  const end = steps.findLast((step) => step.step === 'ended');
  const said = steps
    .filter((step) => step.step === 'answered')
    .flatMap((step) => step.events)
    .filter((event) => event.type === 'text')
    .map((event) => event.text)
    .join('');
  take('response.resumed', { content: end?.text ?? said });
  for (const one of run.waiting ?? []) take('approval.required', { id: one.call, name: one.tool, input: one.arguments, why: one.why });
  if (end?.how === 'error') take('response.error', { message: end.error, code: 'run' });
  else take(end?.how === 'cancelled' ? 'response.cancelled' : 'response.done', { stop_reason: run.state === 'waiting' ? 'approval_required' : 'end_turn' });
}

function takeUp(state, signal) {
  const headers = state.last ? { 'last-event-id': String(state.last) } : {};
  return ask('GET', at`v1/response/${state.id}/events`, { signal, headers });
}

/** Waits for `ms`, or until the network is back. */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener('online', end);
    signal.addEventListener('abort', end);
  });
}
