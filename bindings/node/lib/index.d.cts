/** A value that a template can print or look into: what JSON has, and a little more. */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Float
  | Date
  | readonly Value[]
  | ReadonlySet<Value>
  | ReadonlyMap<string, Value>
  | { readonly [key: string]: Value };

/**
 * The variables of a render by name. Interfaces and instances of classes are read field by field.
 */
export type Variables = { readonly [name: string]: Value } | object;

/** The formats that templates can be written in. */
export type Format =
  | 'jinja'
  | 'jinja-plain'
  | 'go'
  | 'handlebars'
  | 'handlebars-html'
  | 'mustache'
  | 'mustache-html'
  | 'liquid'
  | 'f-string'
  | 'f-string-strict'
  | 'dotprompt'
  | 'semantic-kernel'
  | 'semantic-kernel-handlebars'
  | 'semantic-kernel-jinja2'
  | 'semantic-kernel-liquid'
  | (string & {});

/** Bounds; each has a default and an error that names it. */
export interface Limits {
  /** Bytes of the template with its partials. 1 MiB. */
  sourceBytes?: number;
  /** Bytes of output. 8 MiB. */
  outputBytes?: number;
  /** Bytes of strings and lists that a render builds. 32 MiB. */
  memoryBytes?: number;
  /** Nodes evaluated, turns of loops, elements visited. 1,000,000. */
  steps?: number;
  /** Templates that call templates. 100. */
  nesting?: number;
  /** Evaluations; one more than the longest chain of calls that need each other's results. 16. */
  passes?: number;
  /** Calls of functions. 256. */
  calls?: number;
  /** Calls that run at the same time. 64. */
  concurrency?: number;
  /** Milliseconds of a render, calls included. 500; 30,000 with `tools`. */
  timeMs?: number;
}

export interface TemplateOptions {
  /** The language of the template. `jinja`, as Hugging Face's chat templates use it, by default. */
  format?: Format;
  /** Templates that it can include, by name. */
  partials?: Readonly<Record<string, string>>;
  /** Its name in errors. `template` by default. */
  name?: string;
  /** Handling of missing variables; by default that of the format's own host. */
  missing?: 'default' | 'strict' | 'zero' | 'empty';
  /**
   * What divides the text into messages: nothing but helpers of the format (`plain`, the default),
   * `<message role="user">` (`elements`), or `system:` on a line of its own (`role-lines`).
   */
  messages?: 'plain' | 'elements' | 'role-lines';
  /**
   * Variables whose text may have messages of its own. All others are data, which divides nothing.
   */
  trusted?: readonly string[];
  /** Tools that Jinja takes as filters too. */
  filters?: readonly string[];
  limits?: Limits;
}

/** A function that templates call. Arguments by name come last, as one object. */
export type ToolFunction = (...args: any[]) => unknown;

export interface Tool {
  call: ToolFunction;
  /**
   * Names of its parameters, for formats whose calls take variables by name (Semantic Kernel's).
   */
  parameters?: readonly string[];
  /** Whether equal calls of one render are one. `false` by default. */
  idempotent?: boolean;
  /** Fallback value of a failed call. Empty by default. */
  default?: Value;
}

export interface FailedCall {
  tool: string;
  message: string;
  /** The exception. */
  error: unknown;
}

export interface RenderOptions {
  /** Functions by name. */
  tools?: Readonly<Record<string, ToolFunction | Tool>>;
  /**
   * Told of a tool that failed, whose default then stands in the text; what it throws ends the
   * render. By default the process gets a warning.
   */
  onToolError?: (failed: FailedCall) => void;
}

export interface AsyncRenderOptions extends RenderOptions {
  /** Ends the render, whose promise is rejected with the signal's reason. */
  signal?: AbortSignal;
}

/** A message in OpenAI's shape. */
export interface Message {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  content: string | Array<Record<string, unknown> & { type: string }>;
  name?: string;
}

/** A piece of a rendered text. */
export interface Segment {
  /** The template's own text, or a value that was printed. */
  kind: 'literal' | 'interp';
  text: string;
  /** The variable or function that the value comes from, where it is one alone. */
  source: string | null;
}

/** Something that is wrong with a template. */
export interface Finding {
  code: string;
  severity: 'error' | 'warning';
  message: string;
  /** The template's name, or a partial's. */
  source: string;
  /** From 1. */
  line?: number;
  /** Characters, from 1. */
  column?: number;
  /** How to fix it. */
  hint?: string;
}

/** Error of this package. */
export class QuilletError extends Error {
  /** Stable: `template.syntax`, `render.missing_variable`, `render.limit`, `value.kind`, … */
  readonly code: string;
  /** The message without its place. */
  readonly reason: string;
  /** The template's name, or a partial's. */
  readonly source?: string;
  /** From 1. */
  readonly line?: number;
  /** Characters, from 1. */
  readonly column?: number;
  /** How to fix it. */
  readonly hint?: string;
  /** Everything that is wrong with a template that does not compile. */
  readonly findings?: readonly Finding[];
}

/** A template that was compiled, to be rendered any number of times. */
export class Template {
  /** @throws {QuilletError} The template is broken: with line and column. */
  constructor(text: string, options?: TemplateOptions);
  /** The format, as it was given. */
  readonly format: string;
  /** Names of the variables that it reads, in the order of first use. */
  readonly variables: string[];
  /** Names of the functions that it calls and does not bring itself, in the order of first use. */
  readonly functions: string[];
  /** The text. Tools have to give their results at once; see {@link Template.renderAsync}. */
  render(variables?: Variables, options?: RenderOptions): string;
  /**
   * The text, with tools that may be asynchronous: those that do not need each other run side by
   * side.
   */
  renderAsync(variables?: Variables, options?: AsyncRenderOptions): Promise<string>;
  /** The messages that the template's own text divides it into. */
  messages(variables?: Variables, options?: RenderOptions): Message[];
  messagesAsync(variables?: Variables, options?: AsyncRenderOptions): Promise<Message[]>;
  /** The text in pieces that say where they come from. */
  segments(variables?: Variables, options?: RenderOptions): Segment[];
  segmentsAsync(variables?: Variables, options?: AsyncRenderOptions): Promise<Segment[]>;
}

/** Everything that is wrong with a template; an empty list if nothing is. */
export function check(text: string, options?: TemplateOptions): Finding[];

export interface ConvertOptions {
  from: Format;
  to: Format;
  /**
   * Whether variables of unknown kind are texts or whole numbers, which all formats print alike.
   */
  assumeText?: boolean;
  /** Whether to reject a conversion that is exact for some values only. */
  strict?: boolean;
}

/**
 * The template in another format.
 * @throws {QuilletError} Something in it has no exact counterpart: with its place.
 */
export function convert(text: string, options: ConvertOptions): { text: string; notes: Finding[] };

/** See {@link float}. */
export interface Float {
  readonly value: number;
}

/** A number that prints with a fraction in formats that distinguish them: `3.0` in Jinja. */
export function float(value: number): Float;

/** The formats, each with its other names. */
export function formats(): Array<{ name: string; aliases: string[] }>;
