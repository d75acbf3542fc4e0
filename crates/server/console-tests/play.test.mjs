// The playground: versions and models beside each other, streamed.

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

test('two versions answer beside each other, with tokens and times', async () => {
  const page = await visit(server, address({ prompt: 'greet', versions: '1,2', variables: '{"name":"Ada"}' }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Hello Ada!').waitFor();
  await column(page, 2).getByText('Good day, Ada.').waitFor();
  const figures = column(page, 1).getByText(/first token after .* tokens in, \d+ out/);
  await figures.waitFor();
  clean(page);
});

test('an answer says what it cost, where the price of its model is known, by mouse and by keyboard', async () => {
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
  // Without a prompt, and by the keyboard alone.
  const bare = await visit(priced, address({}));
  await reach(bare, bare.getByLabel('Next turn of the user'));
  await bare.keyboard.type('Hello');
  await bare.keyboard.press('Control+Enter');
  await column(bare, 1).getByText(`7 out · $${cost.toPrecision(2)}`).waitFor();
  clean(page);
  clean(bare);
});

test('turns, repeating, columns and the address by keyboard alone', async () => {
  const page = await visit(server, address({ prompt: 'greet', versions: '1', variables: '{"name":"Ada"}' }));
  await reach(page, page.getByRole('button', { name: 'Add a column' }));
  await page.keyboard.press('Enter');
  await page.keyboard.press('End');
  await reach(page, page.getByLabel('Model of column 2'));
  await page.keyboard.type('mock');
  await reach(page, page.getByLabel('Next turn of the user'), 'Shift+Tab');
  await page.keyboard.press('Control+Enter');
  await column(page, 1).getByText('Hello Ada!').waitFor();
  await column(page, 2).getByText(/tokens in/).waitFor();
  await page.keyboard.type('And who are you?');
  await page.keyboard.press('Control+Enter');
  for (const number of [1, 2]) {
    await column(page, number).locator('.turn.user').getByText('And who are you?').waitFor();
    await column(page, number).getByText('It read 3 messages (2 user, 1 assistant).').waitFor();
  }
  await page.getByRole('button', { name: 'Repeat the last answer of column 1' }).and(page.locator(':enabled')).waitFor();
  await reach(page, page.getByRole('button', { name: 'Repeat the last answer of column 1' }));
  await page.keyboard.press('Enter');
  await column(page, 1).getByText('It read 3 messages').waitFor();
  assert.equal(await column(page, 1).locator('.turn.assistant').count(), 2);
  const query = new URLSearchParams(page.url().split('?')[1]);
  assert.deepEqual(JSON.parse(query.get('turns')), ['And who are you?']);
  assert.equal(query.get('models'), ',mock');
  // The same again from the address alone.
  await page.reload();
  await ready(page);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 2).getByText('It read 3 messages').waitFor();
  await reach(page, page.getByRole('button', { name: 'Take column 1 away' }));
  await page.keyboard.press('Enter');
  assert.equal(await page.getByRole('region', { name: /^Column/ }).count(), 1);
  clean(page);
});

test('a prompt that says nothing as the user waits for a turn', async () => {
  const page = await visit(server, address({ prompt: 'rules', variables: '{"how":"brief"}' }));
  await page.getByLabel('Next turn of the user').fill('Well?');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('It read 2 messages (1 system, 1 user).').waitFor();
  assert.equal(await column(page, 1).locator('.turn.assistant').count(), 1);
  clean(page);
});

test('models alone, without a prompt', async () => {
  const page = await visit(server, '#/play');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('alert').getByText('Choose a prompt').waitFor();
  await page.getByLabel('Next turn of the user').fill('Just this');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Just this').last().waitFor();
  await page.getByLabel('Prompt', { exact: true }).fill('greet');
  await page.getByLabel('Version of column 1').selectOption('1');
  await page.getByLabel(/^name/).fill('Cy');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Hello Cy!').waitFor();
  clean(page);
});

test('what fails says why, and the other column goes on', async () => {
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
  await page.getByRole('button', { name: 'Copy the answer of column 1' }).click();
  await page.getByText('Copied.').waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /Good day, Ada\.$/);
  clean(page);
});

test('a case is a file that quillet test reads', async () => {
  for (const [expects, passes] of [['contains', true], ['equals', true]]) {
    const page = await visit(server, address({ prompt: 'greet', versions: '2', variables: JSON.stringify({ name: 'Ada: "{{x}}" /re/\n#' }) }));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await column(page, 1).getByText(/tokens in/).waitFor();
    await page.getByRole('button', { name: 'Save as a case: column 1' }).click();
    await page.getByLabel('The answer', { exact: true }).selectOption(expects);
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

/** A provider that thinks, calls a tool, and waits before its end until it is told. */
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

test('text, reasoning and calls of tools come as they are made; stopping ends the call', async () => {
  const { url, waiting } = await provider();
  const own = await serve({ args: ['--demo', '--model', 'thinker'], env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none' } });
  const page = await visit(own, address({ prompt: 'hello' }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await column(page, 1).getByText('Half of it').waitFor();
  await column(page, 1).getByText('Reasoning').click();
  await column(page, 1).getByText('Let me think.').waitFor();
  await column(page, 1).getByText('calls weather').waitFor();
  await column(page, 1).getByText('"city": "Oslo"').waitFor();
  const left = new Promise((resolve) => waiting[0].once('left', resolve));
  await page.getByRole('button', { name: 'Stop column 1' }).click();
  await column(page, 1).getByText('Stopped.').waitFor();
  await left;
  // A server that goes away in the middle of an answer.
  await page.getByRole('button', { name: 'Repeat the last answer of column 1' }).click();
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

test('the playground everywhere', async () => {
  await everywhere(server, address({ prompt: 'greet', versions: '1,2', variables: '{"name":"Ada"}' }), async (page, language) => {
    await page.getByRole('button', { name: language === 'zh' ? '运行' : 'Run', exact: true }).click();
    await page.locator('.turn.assistant:not([aria-busy])').nth(1).waitFor();
  });
});
