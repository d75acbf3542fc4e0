// Stored scripts: diagnostics, runs with events, and dry runs.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { accessible, clean, everywhere, go, reach, ready, serve, staysText, visit } from './harness.mjs';
import { SHORT, TEXTS } from './hostile.mjs';
import { provider } from './provider.mjs';

let answer = {};
let release;
const models = await provider((messages) => {
  const said = messages.at(-1).content;
  if (said.includes('hold')) return { text: 'one two three four', hold: new Promise((resolve) => (release = resolve)) };
  return answer.text === undefined ? { text: `You said: ${said}`, reasoning: 'Hm.' } : answer;
});
after(() => models.stop());
const server = await serve({ args: ['--store', 'sqlite:store.db', '--model', 'test-model'], env: { OPENAI_BASE_URL: models.url, OPENAI_API_KEY: 'k' } });

const script = (source) => ({ format: 'script', source });
await server.api('PUT', 'api/v1/prompts/shout', script('---\ntitle: Says it twice\ninput:\n  - word: {type: string, index: 0, required: true}\n---\n- $print: "twice {{word}}"\n- $ret: "?=word + \'-\' + word"\n'));
await server.api('PUT', 'api/v1/prompts/ask', script('---\ntitle: A greeting\ninput:\n  - name: {type: string, index: 0, required: true}\n---\nsystem: You greet people.\nuser: "Greet {{name}}."\n'));
await server.api('PUT', 'api/v1/prompts/bad?broken=allow', script('---\ninput: [\n---\n- $nope: 1\n'));
await server.api('PUT', 'api/v1/prompts/plain', { userPrompt: 'Hello' });

const out = (page) => page.getByRole('region', { name: 'Output' });

test('only scripts are listed', async () => {
  const page = await visit(server, '#/scripts');
  assert.deepEqual(await page.locator('tbody th').allTextContents(), ['ask', 'bad', 'shout']);
  await page.getByRole('link', { name: 'shout' }).click();
  await ready(page);
  await page.getByText('Says it twice').first().waitFor();
  clean(page);
});

test('a script runs and shows its events, by mouse', async () => {
  const page = await visit(server, '#/scripts/shout');
  assert.equal(await page.getByLabel('Inputs').inputValue(), '{\n  "word": ""\n}');
  await page.getByLabel('Inputs').fill('{"word": "hey"}');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await out(page).getByText('twice hey').waitFor();
  await out(page).getByText('Model calls: 0').waitFor();
  await out(page).getByText('hey-hey').first().waitFor();
  await accessible(page, 'a script that ran');
});

test('a script runs and dry-runs by keyboard', async () => {
  const page = await visit(server, '#/scripts/ask?variables=%7B%22name%22%3A%22Ada%22%7D');
  await reach(page, page.getByLabel('Model'));
  await page.keyboard.press('Enter');
  await out(page).getByText('You said: Greet Ada.').first().waitFor();
  await page.getByRole('button', { name: 'Dry run', disabled: false }).waitFor();
  await reach(page, page.getByRole('button', { name: 'Dry run' }));
  await page.keyboard.press('Enter');
  await out(page).getByText('Model request 1').waitFor();
  await out(page).getByText('You greet people.').waitFor();
  clean(page);
});

test('invalid and missing inputs are reported', async () => {
  const page = await visit(server, '#/scripts/ask');
  await page.getByLabel('Inputs').fill('{"name":');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await out(page).getByText('Invalid inputs').waitFor();
  await page.getByLabel('Inputs').fill('{}');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await out(page).getByText('missing required value').first().waitFor();
  await accessible(page, 'a script that was refused');
});

test('a run is stopped', async () => {
  const page = await visit(server, '#/scripts/ask?variables=%7B%22name%22%3A%22hold%22%7D');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await out(page).getByText('one').first().waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await out(page).getByText('Stopped.').waitFor();
  release();
  clean(page);
});

test('diagnostics of a script are shown with their location', async () => {
  const page = await visit(server, '#/scripts/bad');
  await page.getByText('unclosed bracket').waitFor();
  await page.getByText(':2:8').waitFor();
  await page.getByText('Tests', { exact: true }).click();
  await page.getByText('quillet test').waitFor();
  await accessible(page, 'a broken script');
});

test('the views are accessible in all sizes, languages and themes', async () => {
  await everywhere(server, '#/scripts');
  await everywhere(server, '#/scripts/ask?variables=%7B%22name%22%3A%22Ada%22%7D', async (page, language) => {
    await page.getByRole('button', { name: language === 'zh' ? '试运行' : 'Dry run' }).click();
    await page.locator('section .turn').first().waitFor();
    await page.getByRole('button', { name: language === 'zh' ? '运行' : 'Run', exact: true }).click();
    await page.locator('section [role="log"] h3').waitFor();
  });
});

test('inputs, answers, results and names are never markup', async () => {
  const page = await visit(server, '#/scripts/ask');
  for (const [name, text] of TEXTS.filter(([, text]) => text.trim())) {
    answer = { text, reasoning: text };
    await page.getByLabel('Inputs').fill(JSON.stringify({ name: text.length > 20_000 ? 'x' : text }));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Run', exact: true, disabled: false }).waitFor();
    await staysText(page, `${name} in an answer`);
    await page.getByRole('button', { name: 'Dry run' }).click();
    await out(page).getByRole('heading').or(out(page).getByRole('alert')).first().waitFor();
    await staysText(page, `${name} in a dry run`);
  }
  answer = {};
  for (const [name, text] of SHORT.filter(([, text]) => text.trim() && text.isWellFormed())) {
    await server.api('PUT', `api/v1/prompts/${encodeURIComponent(text)}?broken=allow`, script(`---\ntitle: ${JSON.stringify(text)}\n---\n- $nope: ${JSON.stringify(text)}\n`)).catch(() => {});
    await go(page, `#/scripts/${encodeURIComponent(text)}`);
    await page.evaluate(() => document.querySelectorAll('main details').forEach((one) => (one.open = true)));
    await staysText(page, `${name} as a name and in a source`);
  }
  await go(page, '#/scripts');
  await staysText(page, 'the list');
});
