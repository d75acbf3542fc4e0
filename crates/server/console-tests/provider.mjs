// A scripted model provider with the OpenAI chat API.

import { createServer } from 'node:http';

/**
 * Starts a provider. `script(messages, request)` returns the answer: `{ text, reasoning, calls: [{ name,
 * arguments }], pause, hold }`. `pause` is the time between two chunks in ms. `hold` is a promise awaited
 * after the first chunk, so a test can check a partial answer.
 */
export async function provider(script) {
  let calls = 0;
  const asked = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
      return;
    }
    const wanted = JSON.parse(body);
    asked.push(wanted);
    const answer = await script(wanted.messages, wanted);
    const base = { id: 'chatcmpl-test', object: 'chat.completion.chunk', created: 1, model: wanted.model };
    const tools = (answer.calls ?? []).map((call, index) => ({
      index,
      id: `call_${(calls += 1)}`,
      type: 'function',
      function: { name: call.name, arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments) },
    }));
    const finish = tools.length ? 'tool_calls' : 'stop';
    const usage = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 };
    if (!wanted.stream) {
      await answer.hold;
      const message = { role: 'assistant', content: answer.text ?? null, ...(tools.length ? { tool_calls: tools } : {}) };
      const whole = { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const say = (choices, more) => response.write(`data: ${JSON.stringify({ ...base, choices, ...more })}\n\n`);
    const delta = (piece) => say([{ index: 0, delta: piece, finish_reason: null }]);
    delta({ role: 'assistant', content: '' });
    if (answer.reasoning) delta({ reasoning_content: answer.reasoning });
    const text = answer.text ?? '';
    const size = Math.max(1, Math.ceil(text.length / 4));
    for (let at = 0; at < text.length; at += size) {
      delta({ content: text.slice(at, at + size) });
      if (at === 0 && answer.hold) await answer.hold;
      if (answer.pause) await new Promise((resolve) => setTimeout(resolve, answer.pause));
    }
    if (tools.length) delta({ tool_calls: tools });
    say([{ index: 0, delta: {}, finish_reason: finish }]);
    say([], { usage });
    response.end('data: [DONE]\n\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    asked,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
