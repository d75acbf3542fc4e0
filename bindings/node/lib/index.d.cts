/** A value that a template can print or access: the types of JSON, and a few more. */
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
 * The variables of a render by name. Class instances are read field by field.
 */
export type Variables = { readonly [name: string]: Value } | object;

/** The template formats. */
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

/** Limits; each has a default and an error that names it. */
export interface Limits {
  /** Maximum bytes of the template with its partials. Default: 1 MiB. */
  sourceBytes?: number;
  /** Maximum bytes of output. Default: 8 MiB. */
  outputBytes?: number;
  /** Maximum bytes of strings and lists that a render builds. Default: 32 MiB. */
  memoryBytes?: number;
  /** Maximum nodes evaluated, loop iterations and elements visited. Default: 1,000,000. */
  steps?: number;
  /** Maximum depth of templates that call templates. Default: 100. */
  nesting?: number;
  /** Maximum evaluation passes; one more than the longest chain of dependent calls. Default: 16. */
  passes?: number;
  /** Maximum function calls. Default: 256. */
  calls?: number;
  /** Maximum concurrent calls. Default: 64. */
  concurrency?: number;
  /** Timeout of a render in milliseconds, including calls. Default: 500, or 30,000 with `tools`. */
  timeMs?: number;
}

export interface TemplateOptions {
  /** The template format. Default: `jinja`, as used by Hugging Face chat templates. */
  format?: Format;
  /** Templates that this one can include, by name. */
  partials?: Readonly<Record<string, string>>;
  /** The template's name in errors. Default: `template`. */
  name?: string;
  /** Handling of missing variables. Default: as in the format's reference implementation. */
  missing?: 'default' | 'strict' | 'zero' | 'empty';
  /**
   * Syntax that divides the text into messages: only helpers of the format (`plain`, the default),
   * `<message role="user">` (`elements`), or `system:` on a separate line (`role-lines`).
   */
  messages?: 'plain' | 'elements' | 'role-lines';
  /**
   * Variables whose text may contain message boundaries. All other variables are data and never
   * start a message.
   */
  trusted?: readonly string[];
  /** Tools that Jinja templates can also use as filters. */
  filters?: readonly string[];
  limits?: Limits;
}

/** A function that templates call. Named arguments come last, as one object. */
export type ToolFunction = (...args: any[]) => unknown;

export interface Tool {
  call: ToolFunction;
  /**
   * Parameter names, for formats whose calls bind variables by name (Semantic Kernel).
   */
  parameters?: readonly string[];
  /** Whether equal calls in one render are made only once. Default: `false`. */
  idempotent?: boolean;
  /** Fallback value of a failed call. Default: empty. */
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
   * Called when a tool fails and its fallback value is used. An exception ends the render. Default:
   * emits a process warning.
   */
  onToolError?: (failed: FailedCall) => void;
}

export interface AsyncRenderOptions extends RenderOptions {
  /** Aborts the render; its promise is rejected with the signal's reason. */
  signal?: AbortSignal;
}

/** A message in OpenAI's format. */
export interface Message {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  content: string | Array<Record<string, unknown> & { type: string }>;
  name?: string;
}

/** A segment of a rendered text. */
export interface Segment {
  /** The template's own text, or a printed value. */
  kind: 'literal' | 'interp';
  text: string;
  /** The variable or function that produced the value, if it is a single one. */
  source: string | null;
}

/** A diagnostic of a template. */
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
  /** Suggested fix. */
  hint?: string;
}

/** Error of this package. */
export class QuilletError extends Error {
  /** Stable: `template.syntax`, `render.missing_variable`, `render.limit`, `value.kind`, … */
  readonly code: string;
  /** The message without the location. */
  readonly reason: string;
  /** The template's name, or a partial's. */
  readonly source?: string;
  /** From 1. */
  readonly line?: number;
  /** Characters, from 1. */
  readonly column?: number;
  /** Suggested fix. */
  readonly hint?: string;
  /** All diagnostics of a template that does not compile. */
  readonly findings?: readonly Finding[];
}

/** A compiled template, which can be rendered any number of times. */
export class Template {
  /** @throws {QuilletError} The template is invalid; the error has line and column. */
  constructor(text: string, options?: TemplateOptions);
  /** The format, as passed. */
  readonly format: string;
  /** Names of the variables that the template can read, in order of first use. */
  readonly variables: string[];
  /** Names of the external functions that the template can call, in order of first use. */
  readonly functions: string[];
  /** Renders to text. Tools must be synchronous; see {@link Template.renderAsync}. */
  render(variables?: Variables, options?: RenderOptions): string;
  /**
   * Renders to text with tools that may be asynchronous. Independent calls run concurrently.
   */
  renderAsync(variables?: Variables, options?: AsyncRenderOptions): Promise<string>;
  /** Renders to messages, as divided by the template's own text. */
  messages(variables?: Variables, options?: RenderOptions): Message[];
  messagesAsync(variables?: Variables, options?: AsyncRenderOptions): Promise<Message[]>;
  /** Renders to segments with their origin. */
  segments(variables?: Variables, options?: RenderOptions): Segment[];
  segmentsAsync(variables?: Variables, options?: AsyncRenderOptions): Promise<Segment[]>;
}

/** Diagnostics of a template; empty if it is valid. */
export function check(text: string, options?: TemplateOptions): Finding[];

export interface ConvertOptions {
  from: Format;
  to: Format;
  /**
   * Whether to treat variables of unknown type as strings or integers, which all formats print
   * alike.
   */
  assumeText?: boolean;
  /** Whether to reject a conversion that is exact only for some values. */
  strict?: boolean;
}

/**
 * Converts a template to another format.
 * @throws {QuilletError} A part has no exact counterpart; the error has its location.
 */
export function convert(text: string, options: ConvertOptions): { text: string; notes: Finding[] };

/** See {@link float}. */
export interface Float {
  readonly value: number;
}

/** A number that prints with a fraction in formats that distinguish them: `3.0` in Jinja. */
export function float(value: number): Float;

/** The formats with their aliases. */
export function formats(): Array<{ name: string; aliases: string[] }>;
