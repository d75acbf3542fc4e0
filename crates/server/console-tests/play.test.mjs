// The playground: streamed answers of versions and models side by side.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { join } from 'node:path';

import { clean, everywhere, PROGRAM, reach, ready, serve, visit } from './harness.mjs';
import { provider as scripted } from './provider.mjs';

const store = {
  'store/prompts/greet.json': JSON.stringify({ format: 'jinja', userPrompt: 'Hello {{ name }}!', parameters: [{ name: 'name', type: 'string' }] }),
  'store/prompts/rules.json': JSON.stringify({ format: 'jinja', messages: [{ role: 'system', content: 'Be {{ how }}.' }] }),
};
const server = await serve({ args: ['--store', 'dir:{folder}/store', '--model', 'mock'], files: store });
await server.api('PUT', 'api/v1/prompts/greet?message=Second', { format: 'jinja', userPrompt: 'Good day, {{ name }}.', parameters: [{ name: 'name', type: 'string' }] });

const address = (query) => `#/play?${new URLSearchParams(query)}`;
const column = (page, number) => page.getByRole('region', { name: `Column ${number}` });

test('two versions answer side by side, with tokens and times', async () => {
  const page = await visit(server, address({ prompt: 'greet', versions: '1,2', variables: '{"name":"Ada"}' }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Hello Ada!').waitFor();
  await column(page, 2).getByText('Good day, Ada.').waitFor();
  const figures = column(page, 1).getByText(/first token after .* tokens in, \d+ out/);
  await figures.waitFor();
  clean(page);
});

test('an answer shows its cost if the price of the model is known', async () => {
  const models = await scripted(() => ({ text: 'An answer.' }));
  after(() => models.stop());
  const priced = await serve({ args: ['--store', 'dir:{folder}/store', '--model', 'gpt-4o'], files: store, env: { OPENAI_BASE_URL: models.url, OPENAI_API_KEY: 'k' } });
  const usage = { prompt_tokens: 12, completion_tokens: 7 };
  const { cost_usd: cost } = await priced.api('POST', 'api/v1/cost', { model: 'gpt-4o', usage });
  assert.ok(cost > 0);
  const page = await visit(priced, address({ prompt: 'greet', versions: 'latest,latest', models: ',nobody-knows', variables: '{"name":"Ada"}' }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText(`12 tokens in, 7 out · $${cost.toPrecision(2)}`).waitFor();
  await column(page, 2).getByText(/12 tokens in, 7 out/).waitFor();
  assert.doesNotMatch(await column(page, 2).innerText(), /\$/);
  // Without a prompt, by keyboard.
  const bare = await visit(priced, address({}));
  await reach(bare, bare.getByLabel('Next user message'));
  await bare.keyboard.type('Hello');
  await bare.keyboard.press('Control+Enter');
  await column(bare, 1).getByText(`7 out · $${cost.toPrecision(2)}`).waitFor();
  clean(page);
  clean(bare);
});

test('messages, regeneration, columns and the address, by keyboard', async () => {
  const page = await visit(server, address({ prompt: 'greet', versions: '1', variables: '{"name":"Ada"}' }));
  await reach(page, page.getByRole('button', { name: 'Add column' }));
  await page.keyboard.press('Enter');
  await page.keyboard.press('End');
  await reach(page, page.getByLabel('Model of column 2'));
  await page.keyboard.type('mock');
  await reach(page, page.getByLabel('Next user message'), 'Shift+Tab');
  await page.keyboard.press('Control+Enter');
  await column(page, 1).getByText('Hello Ada!').waitFor();
  await column(page, 2).getByText(/tokens in/).waitFor();
  await page.keyboard.type('And who are you?');
  await page.keyboard.press('Control+Enter');
  for (const number of [1, 2]) {
    await column(page, number).locator('.turn.user').getByText('And who are you?').waitFor();
    await column(page, number).getByText('It read 3 messages (2 user, 1 assistant).').waitFor();
  }
  await page.getByRole('button', { name: 'Regenerate the last answer of column 1' }).and(page.locator(':enabled')).waitFor();
  await reach(page, page.getByRole('button', { name: 'Regenerate the last answer of column 1' }));
  await page.keyboard.press('Enter');
  await column(page, 1).getByText('It read 3 messages').waitFor();
  assert.equal(await column(page, 1).locator('.turn.assistant').count(), 2);
  const query = new URLSearchParams(page.url().split('?')[1]);
  assert.deepEqual(JSON.parse(query.get('turns')), ['And who are you?']);
  assert.equal(query.get('models'), ',mock');
  // The address restores the same state.
  await page.reload();
  await ready(page);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 2).getByText('It read 3 messages').waitFor();
  await reach(page, page.getByRole('button', { name: 'Remove column 1' }));
  await page.keyboard.press('Enter');
  assert.equal(await page.getByRole('region', { name: /^Column/ }).count(), 1);
  clean(page);
});

test('a prompt without a user message waits for one', async () => {
  const page = await visit(server, address({ prompt: 'rules', variables: '{"how":"brief"}' }));
  await page.getByLabel('Next user message').fill('Well?');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('It read 2 messages (1 system, 1 user).').waitFor();
  assert.equal(await column(page, 1).locator('.turn.assistant').count(), 1);
  clean(page);
});

test('models alone, without a prompt', async () => {
  const page = await visit(server, '#/play');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('alert').getByText('Choose a prompt').waitFor();
  await page.getByLabel('Next user message').fill('Just this');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Just this').last().waitFor();
  await page.getByLabel('Prompt', { exact: true }).fill('greet');
  await page.getByLabel('Version of column 1').selectOption('1');
  await page.getByLabel(/^name/).fill('Cy');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Hello Cy!').waitFor();
  clean(page);
});

test('a failed column shows the reason, and the other continues', async () => {
  const page = await visit(server, address({ prompt: 'greet', versions: '1,77', variables: '{"name":"Ada"}' }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Hello Ada!').waitFor();
  await column(page, 2).getByRole('alert').getByText(/77/).waitFor();
  clean(page);
});

test('the answer is copied', async () => {
  const page = await visit(server, address({ prompt: 'greet', versions: '2', variables: '{"name":"Ada"}' }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText(/tokens in/).waitFor();
  await page.getByRole('button', { name: 'Copy answer of column 1' }).click();
  await page.getByText('Copied.').waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /Good day, Ada\.$/);
  clean(page);
});

test('a test case is a file that quillet test reads', async () => {
  for (const [expects, passes] of [['contains', true], ['equals', true]]) {
    const page = await visit(server, address({ prompt: 'greet', versions: '2', variables: JSON.stringify({ name: 'Ada: "{{x}}" /re/\n#' }) }));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await column(page, 1).getByText(/tokens in/).waitFor();
    await page.getByRole('button', { name: 'Save test case: column 1' }).click();
    await page.getByLabel('Expectation', { exact: true }).selectOption(expects);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
    assert.equal(download.suggestedFilename(), 'greet.fixture.yaml');
    const file = join(server.folder, `${expects}-greet.fixture.yaml`);
    await download.saveAs(file);
    const said = run(['test', file, '-s', `dir:${server.folder}/store`]);
    assert.match(said, passes ? /1 passed/ : /1 failed/, said);
    clean(page);
  }
});

function run(args) {
  try {
    return execFileSync(PROGRAM, args, { encoding: 'utf8', cwd: server.folder, env: { ...process.env, HOME: server.folder } });
  } catch (error) {
    return `${error.stdout}${error.stderr}`;
  }
}

/** Starts a provider that sends reasoning and a tool call and then leaves the stream open. */
async function provider() {
  const waiting = [];
  const fake = createServer((request, response) => {
    request.resume();
    if (request.method === 'GET') return response.end(JSON.stringify({ object: 'list', data: [{ id: 'thinker', object: 'model' }] }));
    response.setHeader('content-type', 'text/event-stream');
    const chunk = (delta, more = {}) => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'thinker', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`);
    chunk({ role: 'assistant', reasoning_content: 'Let me think.' });
    chunk({ content: 'Half of it' });
    chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":' } }] });
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] });
    waiting.push(response);
    response.on('close', () => response.emit('left'));
  });
  await new Promise((resolve) => fake.listen(0, '127.0.0.1', resolve));
  after(() => (fake.closeAllConnections(), fake.close()));
  return { url: `http://127.0.0.1:${fake.address().port}/v1`, waiting };
}

test('text, reasoning and tool calls are streamed, and stopping ends the request', async () => {
  const { url, waiting } = await provider();
  const own = await serve({ args: ['--demo', '--model', 'thinker'], env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none' } });
  const page = await visit(own, address({ prompt: 'hello' }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Half of it').waitFor();
  await column(page, 1).getByText('Reasoning').click();
  await column(page, 1).getByText('Let me think.').waitFor();
  await column(page, 1).getByText('Tool call: weather').waitFor();
  await column(page, 1).getByText('"city": "Oslo"').waitFor();
  const left = new Promise((resolve) => waiting[0].once('left', resolve));
  await page.getByRole('button', { name: 'Stop column 1' }).click();
  await column(page, 1).getByText('Stopped.').waitFor();
  await left;
  // The server stops in the middle of an answer.
  await page.getByRole('button', { name: 'Regenerate the last answer of column 1' }).click();
  await column(page, 1).getByText('Half of it').waitFor();
  await own.stop();
  await column(page, 1).getByRole('alert').waitFor();
  await column(page, 1).getByText('Half of it').waitFor();
  assert.deepEqual(page.troubles.filter((trouble) => !/Failed to load|ERR_/.test(trouble)), []);
});

test('leaving the view ends its streams', async () => {
  const { url, waiting } = await provider();
  const own = await serve({ args: ['--demo', '--model', 'thinker'], env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none' } });
  const page = await visit(own, address({ prompt: 'hello' }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Half of it').waitFor();
  const left = new Promise((resolve) => waiting[0].once('left', resolve));
  await page.getByRole('link', { name: 'Prompts' }).click();
  await left;
  clean(page);
});

test('the playground in all sizes, languages and themes', async () => {
  await everywhere(server, address({ prompt: 'greet', versions: '1,2', variables: '{"name":"Ada"}' }), async (page, language) => {
    await page.getByRole('button', { name: language === 'zh' ? '运行' : 'Run', exact: true }).click();
    await page.locator('.turn.assistant:not([aria-busy])').nth(1).waitFor();
  });
});
