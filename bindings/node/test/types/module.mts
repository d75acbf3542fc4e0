import { check, convert, float, formats, QuilletError, Template } from 'quillet';
import type {
  FailedCall,
  Finding,
  Message,
  RenderOptions,
  Segment,
  TemplateOptions,
  Value,
} from 'quillet';

interface User {
  name: string;
  tags?: string[];
}

const options: TemplateOptions = {
  format: 'jinja',
  partials: { a: 'b' },
  missing: 'strict',
  limits: { steps: 10, timeMs: 5 },
};
const template = new Template('{{ user.name }}', options);
const names: string[] = template.variables.concat(template.functions);
const user: User = { name: 'Ada' };
const text: string = template.render({ user });
template.render(user);
template.render({
  many: [1, 2n, null, undefined, new Date(), new Map([['k', float(3)]]), new Set(['a'])],
});
const tools: RenderOptions = {
  tools: {
    f: (a: number) => a,
    g: { call: async () => 1, parameters: ['x'], idempotent: true, default: 'none' },
  },
  onToolError: (failed: FailedCall) => console.error(failed.tool, failed.message, failed.error),
};
const later: Promise<string> = template.renderAsync(
  { user },
  { ...tools, signal: new AbortController().signal },
);
const messages: Message[] = template.messages({ user });
const segments: Segment[] = template.segments({ user });
const findings: Finding[] = check('{{ x', { format: 'jinja' });
const converted: { text: string; notes: Finding[] } = convert('{{ x }}', {
  from: 'jinja',
  to: 'go',
});
const value: Value = { a: [1, { b: 'c' }] };
const all: string[] = formats().flatMap(({ name, aliases }) => [name, ...aliases]);
try {
  template.render();
} catch (error) {
  if (error instanceof QuilletError)
    console.log(error.code, error.line, error.column, error.hint, error.findings?.length);
}

// @ts-expect-error A template is text.
new Template(1);
// @ts-expect-error There is no such option.
new Template('x', { fromat: 'jinja' });
// @ts-expect-error Tools are functions.
template.render({}, { tools: { f: 1 } });
// @ts-expect-error Variables have names.
template.render('x');

console.log(names, text, later, messages, segments, findings, converted, value, all);
