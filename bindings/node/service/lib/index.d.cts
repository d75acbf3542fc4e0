import { Finding, Format, Message, QuilletError, Value, Variables } from 'quillet';

export { QuilletError };

/**
 * A function that prompts and scripts call. It receives positional arguments, then the named
 * arguments as one object. It may return a promise.
 */
export type ToolFunction = (...args: any[]) => unknown;

/** A function with a description, also for models. With `parameters`, it receives one object. */
export interface Tool {
  call: (...args: any[]) => unknown;
  /** Description for models. */
  description?: string;
  /** A JSON Schema of type `object`, or the parameter names in order. */
  parameters?: object | readonly string[];
}

export type Tools = Readonly<Record<string, ToolFunction | Tool>>;

export interface FailedCall {
  tool: string;
  message: string;
  /** The exception, if the tool is a function of this program. */
  error: unknown;
}

export interface RenderOptions {
  /** Selects the version that this label points to. */
  label?: string;
  /**
   * Selects the version with this number. Without a label or number, the label `production`
   * applies, or else the current text in the store.
   */
  version?: number;
  /** Functions that the prompt may call; they take precedence over the store's tools. */
  tools?: Tools;
  /**
   * Called for every failed tool. An exception rejects the promise. Default: emits a process
   * warning.
   */
  onToolError?: (failed: FailedCall) => void;
  /** Aborts the render. */
  signal?: AbortSignal;
}

export interface PutOptions {
  /** The format of a template. Default: `jinja`. */
  format?: Format;
  /** Labels to move to the version in the same write. */
  labels?: readonly string[];
  /** Author of the version. Default: `program`. */
  author?: string;
  /** Reason for the change. */
  message?: string;
}

/** A version of a prompt. */
export interface Version {
  number: number;
  /** SHA-256 of the content. */
  digest: string;
  /** The version that this one is based on. */
  parent?: number;
  author: string;
  message?: string;
  /** Milliseconds since 1970. */
  created_ms: number;
  bytes: number;
  /** Whether the prompt was removed. */
  removed?: boolean;
}

/** Labels by name: a version number, or weights by version. */
export type Labels = Record<string, number | { versions: Record<string, number>; by?: string }>;

/** The prompts of a store, kept up to date with writes by other programs. */
export class Catalogue {
  private constructor();
  /**
   * Opens a store: `dir:PATH`, `sqlite:FILE`, `redis://HOST`, `memory:`. A server that does not
   * respond yet is not an error here.
   * @param options `timeoutMs` is the timeout of one render; 30,000 by default.
   */
  static open(store: string, options?: { timeoutMs?: number }): Promise<Catalogue>;
  /** The address the store was opened with. */
  readonly store: string;
  /** Sorted ids of all prompts, including invalid ones. */
  ids(): string[];
  /** Diagnostics of all prompts in the store. */
  check(): Finding[];
  /** Renders a prompt to text, with the role before each message. */
  render(id: string, variables?: Variables, options?: RenderOptions): Promise<string>;
  /** Renders a prompt to messages. A text becomes one user message. */
  messages(id: string, variables?: Variables, options?: RenderOptions): Promise<Message[]>;
  labels(id: string): Promise<Labels>;
  /** Versions of a prompt, newest first. */
  versions(id: string): Promise<Version[]>;
  /** Writes a template or a whole definition. Returns its version number. */
  put(id: string, prompt: string | object, options?: PutOptions): Promise<number>;
  /** Moves a label to a version, or removes it with `null`. Returns all labels of the prompt. */
  setLabel(id: string, label: string, version: number | null): Promise<Labels>;
  /** Removes a prompt and its labels, but keeps its versions. */
  remove(id: string): Promise<void>;
  /** Waits until the catalogue has seen all earlier writes to the store. */
  sync(): Promise<void>;
  /** Stops following the store. All later requests fail. */
  close(): void;
}

/** Reply of a model: a text, an assistant message, or a whole chat completion. */
export type Answer = string | object;

/** Event of a script. */
export interface ScriptEvent {
  type: 'printed' | 'message' | 'thinking' | 'tool_call' | 'tool_result' | 'warning';
  [field: string]: unknown;
}

export interface RunOptions {
  /**
   * The model function. It receives messages in OpenAI's format and the other request options
   * (`model`, `temperature`, `tools`, `response_format`, …).
   */
  model: (
    messages: Array<Record<string, any>>,
    options: Record<string, any>,
  ) => Answer | Promise<Answer>;
  /**
   * Inputs by name, or a single value: the first input, or the user message if there is no input.
   */
  inputs?: Value | object;
  /** Functions that the script may call and offer to the model. */
  tools?: Tools;
  /** Timeout of the whole run. Default: none. */
  timeoutMs?: number;
  /** Aborts the run. */
  signal?: AbortSignal;
  /**
   * Capabilities of the model; `['tools']` by default. Missing ones are requested in the prompt.
   */
  abilities?: ReadonlyArray<'tools' | 'json_schema' | 'json_object' | 'logit_bias' | 'continues'>;
  /** Model parameters that override those of the script. */
  parameters?: object;
  /** Folders to search for scripts that this script names. */
  search?: ReadonlyArray<string | URL>;
  /** Seed for random choices. */
  seed?: number;
  /** Limits. */
  limits?: {
    steps?: number;
    depth?: number;
    modelCalls?: number;
    tokens?: number;
    messages?: number;
    bytes?: number;
    ownMs?: number;
    jsMs?: number;
    jsBytes?: number;
  };
  /** Called for every event. An exception ends the run. */
  onEvent?: (event: ScriptEvent) => void;
  /** Folders that the script may read. Default: none. */
  allowRead?: ReadonlyArray<string | URL>;
  /** Folders that the script may write. Default: none. */
  allowWrite?: ReadonlyArray<string | URL>;
  /** Whether the script may connect to public addresses. */
  allowNet?: boolean;
  /** Whether the script may start interpreters for other languages. */
  allowRun?: boolean;
  /** Environment variables that the script may read. */
  allowEnv?: readonly string[];
}

/**
 * Runs a script and returns its result. A single line is a file, a package folder or an id; several
 * lines are the script itself.
 */
export function run(script: string | URL, options: RunOptions): Promise<any>;

/** A query that the guard accepted. */
export interface Checked {
  /**
   * The text to run, without comments and with the row limit. It requests one row more than the
   * limit, so you can detect truncation.
   */
  sql: string;
  /** The query for display. */
  shown: string;
  /** The tables that the query reads, with their names as passed. */
  tables: string[];
  /** Whether the row limit was added or replaced the query's own LIMIT. */
  limited: boolean;
}

export interface CheckOptions {
  /** Maximum number of rows; 1,000 by default, `null` for no limit. */
  rows?: number | null;
  /** Functions that the query may call, in addition to those known only to compute. */
  functions?: readonly string[];
  /** `explore` also allows SHOW, DESCRIBE and EXPLAIN. */
  mode?: 'select' | 'explore';
}

/**
 * Checks that a query only reads, and returns it with a row limit.
 * @param tables Tables that the query may read (`table` or `schema.table`), with their columns.
 * @throws {QuilletError} The query does more than read; the error has code, line, column and hint.
 */
export function checkQuery(
  sql: string,
  dialect?: 'postgresql' | 'mysql' | 'sqlite' | (string & {}),
  tables?: Readonly<Record<string, readonly string[]>> | null,
  options?: CheckOptions,
): Checked;
