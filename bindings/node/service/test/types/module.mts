import { Catalogue, checkQuery, QuilletError, run } from 'quillet/service';
import type {
  Checked,
  FailedCall,
  Labels,
  RenderOptions,
  ScriptEvent,
  Tool,
  Version,
} from 'quillet/service';
import { run as straight } from 'quillet-service';

const catalogue: Catalogue = await Catalogue.open('redis://127.0.0.1/', { timeoutMs: 5_000 });
const weather: Tool = { call: ({ city }) => city, description: 'x', parameters: ['city'] };
const options: RenderOptions = {
  label: 'production',
  tools: { weather, f: async (n: number) => n },
  onToolError: ({ tool, message, error }: FailedCall) => console.error(tool, message, error),
  signal: new AbortController().signal,
};
const text: string = await catalogue.render('greet', { name: 'Ada' }, options);
const role: string = (await catalogue.messages('greet'))[0].role;
const number: number = await catalogue.put('greet', 'Hi', { labels: ['next'], format: 'go' });
const labels: Labels = await catalogue.setLabel('greet', 'next', null);
const versions: Version[] = await catalogue.versions('greet');
const answer: unknown = await run('user: q\n', {
  model: async (messages, { temperature }) => `${messages.length} ${temperature}`,
  inputs: { a: [1] },
  allowRead: ['/tmp', new URL('file:///tmp')],
  limits: { modelCalls: 3 },
  onEvent: ({ type }: ScriptEvent) => console.log(type),
});
const checked: Checked = checkQuery('SELECT 1', 'postgresql', { t: ['a'] }, { rows: null });
try {
  await straight('x', { model: () => ({ role: 'assistant', content: 'x' }) });
} catch (error) {
  if (error instanceof QuilletError) console.log(error.code, error.line);
}

// @ts-expect-error A catalogue is opened.
new Catalogue();
// @ts-expect-error A script has a model.
run('user: q\n', {});
// @ts-expect-error There is no such ability.
run('user: q\n', { model: () => 'a', abilities: ['flying'] });
// @ts-expect-error Tables have columns.
checkQuery('SELECT 1', 'sqlite', { users: 'id' });

catalogue.close();
console.log(text, role, number, labels, versions, answer, checked.tables);
