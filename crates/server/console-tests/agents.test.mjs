// Agents: chats and their events, approvals, runs and forks.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { accessible, clean, everywhere, go, reach, ready, serve, staysText, visit } from './harness.mjs';
import { SHORT, TEXTS } from './hostile.mjs';
import { provider } from './provider.mjs';

/** Replies of the model, selected by a part of the question. */
let answers = [];
let release;

const AGENT = { model: 'test-model', instructions: 'You answer the mail of a shop.', tools: ['prompt/*'], ask: ['prompt_send'], features: { clarification: true } };

const models = await provider((messages) => {
  const last = messages.at(-1);
  const said = typeof last.content === 'string' ? last.content : JSON.stringify(last.content);
  for (const [words, answer] of answers) if (said.includes(words)) return answer;
  if (last.role === 'tool') return { text: `The tool said: ${said.slice(0, 200)}`, reasoning: 'I read the result.' };
  if (said.includes('greet')) return { text: 'I greet.', reasoning: 'Let me think.', calls: [{ name: 'prompt_greet', arguments: { name: 'Ada' } }] };
  if (said.includes('mail')) return { text: 'I will send it.', calls: [{ name: 'prompt_send', arguments: { to: 'ada@example.org' } }] };
  if (said.includes('which')) {
    return { calls: [{ name: 'ask_clarification', arguments: { question: 'Which order?', options: [{ label: 'the first', value: 'order 1' }, { label: 'the second', value: 'order 2' }] } }] };
  }
  if (said.includes('hold')) return { text: 'first second third fourth', hold: new Promise((resolve) => (release = resolve)) };
  return { text: `You said: ${said}` };
});
const server = await serve({
  args: ['--store', 'sqlite:store.db', '--model', 'test-model'],
  env: { OPENAI_BASE_URL: models.url, OPENAI_API_KEY: 'k', QUILLET_TRACE_TEXTS: 'true' },
});
await server.api('PUT', 'api/v1/prompts/greet', { userPrompt: 'Hello {{.variables.name}}' });
await server.api('PUT', 'api/v1/prompts/send', { userPrompt: 'Sent to {{.variables.to}}' });
await server.api('PUT', 'api/v1/agents/clerk', AGENT);

after(() => models.stop());

/** Sends a message and waits until the answer has ended. */
async function say(page, text) {
  await page.locator('form textarea').fill(text);
  await page.locator('form textarea').press('Enter');
  await ended(page);
}

async function ended(page) {
  await page.locator('[role="log"][aria-busy="false"]').waitFor();
}

const log = (page) => page.locator('[role="log"]');

test('an agent is opened and answers, by mouse', async () => {
  const page = await visit(server, '#/agents');
  await page.getByRole('link', { name: 'clerk' }).click();
  await ready(page);
  await page.getByLabel('Message', { exact: true }).fill('please greet Ada');
  await page.getByRole('button', { name: 'Send' }).click();
  await log(page).getByText('The tool said: Hello Ada').waitFor();
  await ended(page);
  const call = log(page).locator('details.tool');
  assert.match(await call.locator('summary').textContent(), /prompt_greet.*done in/);
  await call.locator('summary').click();
  await call.getByText('"name": "Ada"').waitFor();
  await call.getByText('Hello Ada').waitFor();
  await log(page).locator('details', { hasText: 'Let me think.' }).locator('summary').click();
  await log(page).getByText('Let me think.').waitFor();
  await log(page).getByText('24 tokens in, 14 out').waitFor();
  await accessible(page);
});

test('a session continues after a reload', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  await say(page, 'my name is Ada');
  await page.reload();
  await ready(page);
  await log(page).getByText('You said: my name is Ada').waitFor();
  await say(page, 'who am I');
  const sent = models.asked.at(-1).messages.map((message) => message.content);
  assert.ok(sent.some((text) => String(text).includes('my name is Ada')), JSON.stringify(sent));
  clean(page);
});

test('a clarifying question is answered with a button, by keyboard', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  await page.keyboard.press('Tab');
  await reach(page, page.locator('form textarea'));
  await page.keyboard.type('which one');
  await page.keyboard.press('Enter');
  const second = log(page).getByRole('button', { name: 'the second' });
  await second.waitFor();
  await ended(page);
  await reach(page, second, 'Shift+Tab');
  await page.keyboard.press('Enter');
  await log(page).getByText('You said: order 2').waitFor();
  await ended(page);
  clean(page);
});

test('a pending call is approved with edited arguments in the chat', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  await say(page, 'please mail Ada');
  await log(page).getByRole('button', { name: 'Edit arguments' }).click();
  const area = log(page).getByLabel('Arguments');
  await area.fill('[1]');
  await log(page).getByRole('button', { name: 'Approve with these arguments' }).click();
  await log(page).getByText('must be a JSON object').waitFor();
  await area.fill('{"to": "bob"');
  await log(page).getByRole('button', { name: 'Approve with these arguments' }).click();
  await log(page).getByText('Invalid JSON').waitFor();
  await area.fill('{"to": "bob"}');
  await log(page).getByRole('button', { name: 'Approve with these arguments' }).click();
  await log(page).getByText('The tool said: Sent to bob').waitFor();
  await ended(page);
  await page.reload();
  await ready(page);
  await log(page).getByText('The tool said: Sent to bob').waitFor();
  assert.equal(await page.locator('.approval').count(), 0);
  clean(page);
});

test('a pending call is denied from the inbox by keyboard, and the chat continues', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  await say(page, 'please mail Ada');
  const talk = new URL(page.url()).hash;
  await reach(page, page.getByRole('link', { name: 'Inbox' }), 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  await accessible(page, 'the inbox with a call');
  const deny = page.locator('.approval').first().getByRole('button', { name: 'Deny' });
  await reach(page, deny);
  await page.keyboard.press('Enter');
  await page.keyboard.type('It is Sunday.');
  await reach(page, page.locator('.approval').first().getByRole('button', { name: 'Deny' }));
  await page.keyboard.press('Enter');
  await page.getByText('No pending approvals.').waitFor();
  await go(page, talk);
  const call = log(page).locator('details.tool');
  await call.getByText('failed').waitFor();
  await ended(page);
  await call.locator('summary').click();
  await call.getByText('It is Sunday.').waitFor();
  assert.equal(await page.locator('.approval').count(), 0);
  clean(page);
});

test('an answer is stopped with a button', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  await page.locator('form textarea').fill('hold on');
  await page.locator('form textarea').press('Enter');
  await log(page).getByText('first').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await log(page).getByText('Stopped.').waitFor();
  await ended(page);
  release();
  clean(page);
});

test('an answer continues after the page is left and reopened', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  await page.locator('form textarea').fill('hold it');
  await page.locator('form textarea').press('Enter');
  await log(page).getByText('first').waitFor();
  const talk = new URL(page.url()).hash;
  await go(page, '#/runs');
  release();
  await go(page, talk);
  await log(page).getByText('first second third fourth').waitFor();
  await ended(page);
  clean(page);
});

test('a durable answer resumes after the server is killed and restarted', async () => {
  const page = await visit(server, '#/agents/chat/clerk?durable=1');
  await page.locator('form textarea').fill('hold this');
  await page.locator('form textarea').press('Enter');
  await log(page).getByText('first').waitFor();
  await server.stop();
  await page.getByText('Connection lost').waitFor();
  release();
  answers = [['hold this', { text: 'one whole answer' }]];
  await server.start();
  await log(page).getByText('one whole answer').waitFor({ timeout: 60_000 });
  await ended(page);
  answers = [];
  assert.equal(await log(page).getByText('first').count(), 0, 'what did not count is gone');
  page.troubles = page.troubles.filter((trouble) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY/.test(trouble));
  clean(page);
});

test('a lost answer is reported and can be retried', async () => {
  const page = await visit(server, '#/agents/chat');
  await page.locator('form textarea').fill('hold that');
  await page.locator('form textarea').press('Enter');
  await log(page).getByText('first').waitFor();
  await server.stop();
  release();
  answers = [['hold that', { text: 'the second time' }]];
  await server.start();
  await log(page).getByText('This answer is lost').waitFor({ timeout: 60_000 });
  await log(page).getByRole('button', { name: 'Retry' }).click();
  await log(page).getByText('the second time').waitFor();
  await ended(page);
  answers = [];
});

test('a run is inspected by step, forked and deleted', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  await say(page, 'please mail Ada');
  await log(page).getByRole('button', { name: 'Approve', exact: true }).click();
  await log(page).getByText('The tool said: Sent to ada').waitFor();
  await go(page, '#/runs?state=ended');
  await page.locator('q-list a').first().click();
  await page.getByRole('heading', { name: 'Journal' }).waitFor();
  const steps = page.locator('.steps > li');
  await steps.filter({ hasText: 'prepared' }).locator('summary').first().click();
  await steps.getByText('You answer the mail of a shop.').first().waitFor();
  await accessible(page, 'a run with its journal');
  await steps.filter({ hasText: 'answered' }).first().getByRole('button', { name: /Fork here/ }).click();
  await page.locator('dialog').getByLabel('New model').fill('other-model');
  await accessible(page, 'the dialog of a fork');
  await page.locator('dialog').getByRole('button', { name: 'Fork run', exact: true }).click();
  await page.getByText('Forked from').waitFor();
  const fork = new URL(page.url()).hash;
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.locator('.approval').getByRole('button', { name: 'Deny' }).click();
  await page.locator('.badge', { hasText: 'ended' }).waitFor();
  assert.equal(models.asked.at(-1).model, 'other-model');
  await reach(page, page.getByRole('button', { name: 'Delete run' }));
  await page.keyboard.press('Enter');
  await page.locator('dialog').getByRole('button', { name: 'Delete run' }).press('Enter');
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  await go(page, fork);
  await page.getByRole('alert').first().waitFor();
  clean(page);
});

test('only http and https sources are links', async () => {
  const page = await visit(server, '#/agents');
  const links = await page.evaluate(async () => {
    const { answer } = await import('./console/answer.js');
    const view = answer({ id: () => 'x' });
    view.take('response.done', { sources: ['https://example.org/a', 'javascript:globalThis.hostile=1', 'data:text/html,x', 'notes.md'].map((url) => ({ title: url, url })) });
    document.querySelector('main').append(view.node);
    view.node.querySelector('summary').click();
    await new Promise((resolve) => setTimeout(resolve));
    return [...view.node.querySelectorAll('a')].map((link) => link.href);
  });
  assert.deepEqual(links, ['https://example.org/a']);
  await staysText(page);
});

test('the views are accessible in all sizes, languages and themes', async () => {
  await server.api('PUT', 'api/v1/agents/broken?broken=allow', { nonsense: 1 });
  await everywhere(server, '#/agents');
  await everywhere(server, '#/agents/inbox');
  await everywhere(server, '#/runs');
  await everywhere(server, '#/agents/chat/clerk', async (page, language) => {
    await say(page, 'please greet Ada');
    await say(page, 'please mail Ada');
    await log(page).getByRole('button', { name: language === 'zh' ? '拒绝' : 'Deny' }).click();
  });
});

/** Texts that share one chat, and texts that need separate chats. */
const FEW = TEXTS.filter(([, text]) => text.trim() && text.length <= 20_000);
const LARGE = TEXTS.filter(([, text]) => text.length > 20_000);

async function unfold(page) {
  await page.evaluate(() => document.querySelectorAll('main details').forEach((one) => (one.open = true)));
}

test('text of models, tools and users is never markup', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  const talk = async (text, calls, what, said) => {
    answers = [
      ['say it', { text, reasoning: text, calls: calls.map((name) => ({ name: 'prompt_greet', arguments: { name } })) }],
      ['', { text, reasoning: text }],
    ];
    await page.locator('form textarea').fill(`say it ${said}`);
    await page.locator('form textarea').press('Enter');
    await ended(page);
    await unfold(page);
    await staysText(page, what);
  };
  const texts = FEW.map(([, text]) => text);
  await talk(texts.join('\n'), texts, 'all short texts', texts.join('\n'));
  for (const [name, text] of LARGE) {
    await page.evaluate(() => sessionStorage.clear());
    await page.getByRole('button', { name: 'Start new session' }).click();
    await page.locator('[role="log"]:empty').waitFor({ state: 'attached' });
    await talk(text, [text], name, '');
  }
  answers = [];
});

test('names, questions, arguments of pending calls and journals are never markup', async () => {
  // The server rejects arguments with lone surrogates.
  const texts = FEW.map(([, text]) => text).filter((text) => text.isWellFormed());
  answers = [
    ['hostile question', { calls: [{ name: 'ask_clarification', arguments: { question: texts.join(' '), options: texts.map((text) => ({ label: text, value: text })) } }] }],
    ['hostile mail', { calls: texts.map((text) => ({ name: 'prompt_send', arguments: { to: text, [text]: text } })) }],
  ];
  const page = await visit(server, '#/agents/chat/clerk');
  await say(page, 'a hostile question');
  assert.equal(await log(page).locator('.turn + .row button').count(), texts.length);
  await staysText(page, 'a question');
  await say(page, 'a hostile mail');
  assert.equal(await page.locator('.approval').count(), texts.length);
  await staysText(page, 'calls that wait');
  await go(page, '#/agents/inbox');
  assert.ok((await page.locator('.approval').count()) >= texts.length);
  await staysText(page, 'the inbox');
  await go(page, '#/runs?state=waiting');
  await page.locator('q-list a').first().click();
  await page.locator('.steps > li').first().waitFor();
  await unfold(page);
  await staysText(page, 'a journal');
  answers = [];

  for (const [name, text] of SHORT.filter(([, text]) => text.trim() && text.isWellFormed() && !text.includes('\u0000'))) {
    const id = encodeURIComponent(text);
    // Not every text is a valid name.
    await server.api('PUT', `api/v1/agents/${id}?broken=allow`, { ...AGENT, description: text, instructions: text, model: text }).catch(() => {});
    await go(page, `#/agents/chat/${id}`);
    await staysText(page, `${name} as the name of an agent`);
  }
  await go(page, '#/agents');
  await page.locator('td .badge').last().waitFor();
  await staysText(page, 'a list of agents');
});

test('a trace links to its durable run, and the run to its traces', async () => {
  const page = await visit(server, '#/agents/chat/clerk');
  await say(page, 'please mail Ada');
  await log(page).getByRole('button', { name: 'Approve', exact: true }).click();
  await log(page).getByText('The tool said: Sent to ada@example.org').waitFor();
  await ended(page);
  // The run has one trace before and one after the decision.
  const runs = await server.api('GET', 'v1/runs?limit=1');
  const id = runs[0].id;
  await server.until(async () => (await server.api('GET', `v1/traces?run=${id}`)).traces.length === 2);
  const { traces } = await server.api('GET', `v1/traces?run=${id}`);
  await go(page, `#/traces/${traces[0].id}`);
  await page.getByRole('link', { name: 'Open run' }).click();
  await page.getByRole('heading', { name: 'Journal' }).waitFor();
  assert.ok(page.url().includes(`#/runs/${id}`));
  const links = page.locator('.facts a[href^="#/traces/"]');
  await links.first().waitFor();
  assert.deepEqual(await links.evaluateAll((all) => all.map((one) => one.getAttribute('href'))), traces.map((one) => `#/traces/${one.id}`).reverse());
  await accessible(page, 'a run with its traces');
  // By keyboard: open the latest trace and its second turn, and fork before that turn.
  await reach(page, links.nth(1));
  await page.keyboard.press('Enter');
  await page.locator('q-list.spans').waitFor();
  await reach(page, page.locator('q-list.spans a[tabindex="0"]'));
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  const fork = page.getByRole('region', { name: 'Span' }).getByRole('link', { name: 'Fork from here' });
  await fork.waitFor();
  await reach(page, fork);
  await page.keyboard.press('Enter');
  const { journal } = await server.api('GET', `v1/runs/${id}`);
  const before = journal[journal.findIndex((step) => step.step === 'asked' && step.turn === 2) - 1].number;
  await page.getByRole('heading', { name: `Fork at step ${before}` }).waitFor();
  await page.keyboard.press('Tab');
  await reach(page, page.getByRole('button', { name: 'Fork run', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByText(`${id}, step ${before}`).waitFor();
  clean(page);
});

test('one request lists all agents with their diagnostics', async () => {
  await server.api('PUT', 'api/v1/agents/asker', { description: 'Writes letters', model: 'test-model', tools: ['prompt/*'], ask: ['prompt_send'] });
  await server.api('PUT', 'api/v1/agents/wrong?broken=allow', { model: 5 });
  const page = await visit(server, '#/docs');
  const asked = [];
  page.on('request', (request) => request.url().includes('/v1/agents') && asked.push(new URL(request.url()).search));
  await go(page, '#/agents');
  await page.getByRole('row', { name: /asker Writes letters test-model · requires approval for some calls valid/ }).waitFor();
  await page.getByRole('row', { name: /wrong.*invalid/ }).waitFor();
  assert.deepEqual(asked, ['?detail=true']);
  await reach(page, page.getByRole('link', { name: 'asker' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /asker/ }).waitFor();
  clean(page);
});
