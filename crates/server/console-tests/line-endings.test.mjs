// Line endings: every browser sends the same text, and unedited lines keep theirs.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { clean, go, serve, visit } from './harness.mjs';

const FOLDER = new URL('../console/', import.meta.url);
const server = await serve();
const CRLF = 'one {{ a }}\r\ntwo\r\nthree\r\n';

const newest = (id, from = server) => from.api('GET', `api/v1/prompts/${id}/versions/latest`);
const template = (page) => page.getByLabel('Template userPrompt');

async function stored(id, definition) {
  await server.api('PUT', `api/v1/prompts/${id}`, { format: 'jinja', missing: 'lenient', ...definition });
  return id;
}

async function save(page, version = 2) {
  await page.getByRole('button', { name: 'Save new version' }).click();
  await page.getByText(`Saved version ${version}.`).waitFor();
}

/** A browser whose fields keep carriage returns in `value`. Runs in the page. */
function keepCarriageReturns() {
  for (const field of [HTMLTextAreaElement, HTMLInputElement]) {
    const { get, set } = Object.getOwnPropertyDescriptor(field.prototype, 'value');
    Object.defineProperty(field.prototype, 'value', {
      configurable: true,
      enumerable: true,
      set,
      get() {
        const text = get.call(this);
        if (field === HTMLTextAreaElement) return text.replaceAll('\n', '\r\n');
        return text && ['text', 'search', 'password'].includes(this.type) ? `${text}\r` : text;
      },
    });
  }
}

test('only textOf reads the value of a field', () => {
  const found = [];
  for (const name of readdirSync(FOLDER, { recursive: true }).filter((file) => file.endsWith('.js') && file !== 'view.js')) {
    const source = readFileSync(new URL(name, FOLDER), 'utf8');
    const fields = [...source.matchAll(/(?:const|let) (?:\[)?(\w+)(?: =|,).*h\('(?:input|textarea)'|(\w+) = h\('(?:input|textarea)'/g)].map(([, one, other]) => one ?? other).filter(Boolean);
    for (const field of [...new Set([...fields, 'area', 'input'])]) {
      for (const [read] of source.matchAll(new RegExp(`(?<![\\w'])(?:this\\.#)?${field}\\.value\\b(?! = ).*`, 'g'))) found.push(`${name}: ${read}`);
    }
  }
  assert.deepEqual(found, []);
});

test('unedited lines keep their line endings, and new lines end like the line above', async () => {
  const page = await visit(server, '#/prompts');
  const cases = [
    // The loaded text, the edited text and the saved text.
    ['a\nb', 'a\nc', 'a\nc'],
    ['a\r\nb\r\nc', 'a\nb\nc', 'a\r\nb\r\nc'],
    ['a\r\nb\r\nc', 'a\nX\nc', 'a\r\nX\r\nc'],
    ['a\r\nb', 'a\nb\nc\n', 'a\r\nb\r\nc\r\n'],
    ['a\r\nb\nc', 'a\nb\nd\nc', 'a\r\nb\nd\nc'],
    ['a\r\nb\nc', 'new\na\nb\nc', 'new\r\na\r\nb\nc'],
    ['a\rb', 'a\nbc', 'a\rbc'],
    // A carriage return and a line feed that would become one line break.
    ['a\rb\nc', 'a\n\nc', 'a\n\nc'],
    ['a\r\nb', '', ''],
  ];
  const got = await page.evaluate(async (all) => {
    const { keepLineEndings } = await import('./console/view.js');
    return all.map(([before, after]) => keepLineEndings(before, after));
  }, cases);
  assert.deepEqual(got, cases.map(([, , expected]) => expected));
  clean(page);
});

test('text that is typed, inserted or pasted has line feeds only, and can be undone', async () => {
  const id = await stored('endings.entered', { userPrompt: 'x' });
  const page = await visit(server, `#/prompts/${id}`);
  await template(page).fill('');
  await page.keyboard.type('typed');
  await page.keyboard.press('Enter');
  await page.keyboard.insertText('in\rser\r\nted\n');
  await page.evaluate(() => navigator.clipboard.writeText('pas\rt\r\ned'));
  await page.keyboard.press('Control+v');
  assert.equal(await template(page).inputValue(), 'typed\nin\nser\nted\npas\nt\ned');
  await save(page);
  assert.equal((await newest(id)).definition.userPrompt, 'typed\nin\nser\nted\npas\nt\ned');
  for (let step = 0; step < 20 && (await template(page).inputValue()).includes('ser'); step += 1) await page.keyboard.press('Control+z');
  assert.match(await template(page).inputValue(), /^(typed\n?)?$/);
  clean(page);
});

for (const [browser, init] of [
  ['this browser', undefined],
  ['a browser that keeps carriage returns', keepCarriageReturns],
]) {
  const name = init ? 'kept' : 'plain';

  test(`a stored template with CRLF is edited in ${browser}`, async () => {
    const id = await stored(`endings.${name}`, { userPrompt: CRLF, systemPrompt: 'left\r\nalone' });
    const page = await visit(server, `#/prompts/${id}`, { init });
    await template(page).fill('one {{ a }}\n2\nthree\n');
    await page.getByLabel('Version message').fill('Edited');
    await save(page);
    const { definition, message } = await newest(id);
    assert.equal(definition.userPrompt, 'one {{ a }}\r\n2\r\nthree\r\n');
    assert.equal(definition.systemPrompt, 'left\r\nalone');
    assert.equal(message, 'Edited');
    clean(page);
  });

  test(`two changes of a template with CRLF are merged in ${browser}`, async () => {
    const id = await stored(`endings.merged.${name}`, { userPrompt: 'one\r\ntwo\r\nthree\r\nfour\r\nfive' });
    const page = await visit(server, `#/prompts/${id}`, { init });
    await template(page).fill('one\nmine\nthree\nfour\nFIVE');
    await server.api('PUT', `api/v1/prompts/${id}`, { format: 'jinja', missing: 'lenient', userPrompt: 'ONE\r\ntheirs\r\nthree\r\nfour\r\nfive' });
    await page.getByRole('button', { name: 'Save new version' }).click();
    await page.getByRole('button', { name: 'Keep mine in conflict 1' }).click();
    await page.getByRole('button', { name: 'Use merged text' }).click();
    await save(page, 3);
    assert.match((await newest(id)).definition.userPrompt, /^one\r\nmine\r\nthree\r\nfour\r\nFIVE$/);
    clean(page);
  });

  test(`a prompt file with CRLF is edited in ${browser}`, async () => {
    const text = '---\r\nmodel: mock\r\n---\r\nHello {{name}}\r\nBye\r\n';
    const own = await serve({ args: ['--store', 'dir:{folder}/store', '--model', 'mock'], files: { 'store/prompts/greet.prompt': text } });
    const page = await visit(own, '#/prompts/greet', { init });
    const file = page.getByLabel('File greet.prompt');
    await file.waitFor();
    await file.fill(text.replaceAll('\r\n', '\n').replace('Bye', 'Good\nbye'));
    await save(page);
    const saved = text.replace('Bye', 'Good\r\nbye');
    assert.equal((await newest('greet', own)).definition, saved);
    assert.equal(readFileSync(join(own.folder, 'store/prompts/greet.prompt'), 'utf8'), saved);
    clean(page);
  });

  test(`no field sends a carriage return in ${browser}`, async () => {
    const id = await stored(`endings.all.${name}`, { userPrompt: 'Hello {{ a }}', parameters: [{ name: 'a', type: 'string' }] });
    const page = await visit(server, '#/prompts', { init });
    const sent = [];
    page.on('request', (request) => sent.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`));
    // The answers of these routes do not matter here.
    await page.route('**/v1/response/*/decide', (route) => route.fulfill({ json: {} }));
    await page.route('**/v1/runs/forked**', (route) => route.fulfill({ json: { id: 'forked', title: 'A run', state: 'ended', kind: 'agent', created_ms: 0, updated_ms: 0, journal: [], waiting: [] } }));
    const after = async (part, work) => {
      const before = sent.length;
      await work();
      await server.until(() => sent.slice(before).some((one) => decodeURIComponent(one).includes(part)));
    };

    // Prompts: the search, a new prompt, variables, other fields, labels.
    await after('q=find', () => page.getByRole('searchbox').fill('find'));
    await go(page, '#/prompts?new=1');
    await page.getByLabel('ID', { exact: true }).fill(`endings.new.${name}`);
    await page.getByRole('button', { name: 'Create prompt' }).click();
    await template(page).fill('new\nprompt');
    await save(page, 1);
    await go(page, `#/prompts/${id}`);
    await after('vari\\nable', () => page.getByLabel('a string').fill('vari\nable'));
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    await after('"as":"json"', () => page.getByLabel('Variables (JSON)').fill('{\n"as": "json"\n}'));
    await page.getByLabel('Other fields (JSON)').fill('{\n"missing": "lenient",\n"model": "mock"\n}');
    await save(page);
    await go(page, `#/prompts/${id}?tab=versions`);
    await page.getByRole('button', { name: 'Set label', exact: true }).click();
    await page.getByRole('dialog').getByLabel('Label', { exact: true }).fill('staging');
    await after('/labels/staging', () => page.getByRole('dialog').getByRole('button', { name: 'Set label' }).click());

    // The playground.
    await go(page, '#/play');
    await page.getByLabel('Next user message').fill('said\nto the model');
    await after('said\\nto', () => page.getByRole('button', { name: 'Run', exact: true }).click());

    // Agents, runs and approvals.
    await go(page, '#/agents/chat');
    await page.getByText('Options', { exact: true }).click();
    await page.getByLabel('Additional tools').fill(`prompt/${id}`);
    await page.getByLabel('Message', { exact: true }).fill('chat\nmessage');
    await after('chat\\nmessage', () => page.getByRole('button', { name: 'Send message' }).click());
    await page.locator('[role="log"][aria-busy="false"]').waitFor();
    for (const [open, label, text, submit] of [
      ['Deny', 'Reason', 'not\nnow', 'Deny'],
      ['Edit arguments', 'Arguments', '{\n"to": "Ada"\n}', 'Approve with these arguments'],
      ['Enter result', 'Result', 'the\nresult', 'Use this result'],
    ]) {
      await page.evaluate(async () => {
        const { approval } = await import('./console/approval.js');
        document.querySelector('main').replaceChildren(approval('run', { call: 'call', tool: 'tool', arguments: {}, why: 'unknown' }));
      });
      await page.getByRole('button', { name: open }).click();
      await page.getByLabel(label, { exact: true }).fill(text);
      await after('/decide', () => page.getByRole('button', { name: submit }).click());
    }
    await go(page, '#/runs/forked?fork=1');
    await page.getByLabel('New model').fill('other');
    await page.getByLabel('New instructions').fill('Be\nbrief.');
    await after('Be\\nbrief.', () => page.getByRole('dialog').getByRole('button', { name: 'Fork run' }).click());
    await page.getByText('Created fork forked.').waitFor();

    // Databases, scripts, batches, traces and the routes.
    await go(page, '#/databases/demo');
    await page.getByLabel('Question').fill('How many orders?');
    await after('How many orders?', () => page.getByRole('button', { name: 'Generate query' }).click());
    await page.getByText('Tables shown to the model').waitFor();
    await page.getByLabel('SQL').fill('SELECT 1\nFROM customers');
    await after('SELECT 1\\nFROM', () => page.getByRole('button', { name: 'Format query' }).click());
    await page.getByLabel('SQL').fill('SELECT 2\nFROM customers');
    await after('SELECT 2\\nFROM', () => page.getByRole('button', { name: 'Run', exact: true }).click());
    await go(page, '#/databases/demo?tab=history');
    await after('query=orders', () => page.getByLabel('Search history').fill('orders'));
    await go(page, '#/batches?tab=new');
    await page.getByLabel('Or enter lines').fill('{"custom_id": "a"}\n{"custom_id": "b"}');
    await after('completion_window', () => page.getByRole('button', { name: 'Create batch' }).click());
    await go(page, '#/traces');
    await after('text=found', () => page.getByLabel('Search').fill('found'));
    await go(page, '#/docs?route=post+/api/render');
    const route = page.locator('details.card[open]');
    await route.getByLabel('Request body', { exact: true }).fill('{"template": "Hi",\n"variables": {}}');
    await after('"Hi",\n"variables"', () => route.getByRole('button', { name: 'Send request' }).click());

    // A multipart body has CRLF around its parts.
    const wrong = sent.filter((one) => /%0D|\\r/.test(one) || (/\r/.test(one) && !one.includes('form-data; name="file"')));
    assert.deepEqual(wrong, []);
    const files = sent.filter((one) => one.includes('form-data; name="file"'));
    assert.ok(files.every((one) => one.includes('{"custom_id": "a"}\n{"custom_id": "b"}')), files.join());
    clean(page);
  });

  test(`a test case keeps the line endings of the answer in ${browser}`, async () => {
    const page = await visit(server, '#/play', { init });
    await page.evaluate(async () => {
      const real = fetch;
      globalThis.fetch = (url, options) =>
        String(url).endsWith('v1/chat/completions')
          ? Promise.resolve(new Response(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'first\r\nsecond' } }] })}\n\ndata: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } }))
          : real(url, options);
    });
    await page.getByLabel('Prompt', { exact: true }).fill('hello');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('second').first().waitFor();
    await page.getByRole('button', { name: 'Save test case: column 1' }).click();
    await page.getByLabel('Expectation').selectOption('equals');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download file' }).click()]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    assert.match(text, /\$eq.*first\\r\\nsecond/);
    assert.match(text, /replies:.*first\\r\\nsecond/);
    clean(page);
  });
}
