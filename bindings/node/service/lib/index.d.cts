import { Finding, Format, Message, QuilletError, Value, Variables } from 'quillet';

export { QuilletError };

/**
 * A function that prompts and scripts call. It is given what a template writes: arguments in their
 * order, and those by name last, as one object. It may give a promise.
 */
export type ToolFunction = (...args: any[]) => unknown;

/** A function that is described, for models too. With `parameters` it is given one object. */
export interface Tool {
  call: (...args: any[]) => unknown;
  /** Description for models. */
  description?: string;
  /** A JSON Schema of type `object`, or the names of its parameters in their order. */
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
  /** The version that a label points at. */
  label?: string;
  /**
   * The version of a number. Without either the label `production` speaks, else what stands in the
   * store.
   */
  version?: number;
  /** Functions that the prompt may call, before those of the store. */
  tools?: Tools;
  /** Called for every failed tool; by default a process warning. An exception rejects. */
  onToolError?: (failed: FailedCall) => void;
  /** Ends the render. */
  signal?: AbortSignal;
}

export interface PutOptions {
  /** The format of a template. `jinja` by default. */
  format?: Format;
  /** Labels that are moved to the version at the same moment. */
  labels?: readonly string[];
  /** Who writes it. `program` by default. */
  author?: string;
  /** Why. */
  message?: string;
}

/** A version of a prompt. */
export interface Version {
  number: number;
  /** The SHA-256 of what it says. */
  digest: string;
  /** The version that it was made from. */
  parent?: number;
  author: string;
  message?: string;
  /** Milliseconds since 1970. */
  created_ms: number;
  bytes: number;
  /** Whether the prompt was removed. */
  removed?: boolean;
}

/** Labels by name: the number of a version, or versions by shares. */
export type Labels = Record<string, number | { versions: Record<string, number>; by?: string }>;

/** The prompts of a store, which is followed: what others write there is seen. */
export class Catalogue {
  private constructor();
  /**
   * Opens a store: `dir:PATH`, `sqlite:FILE`, `redis://HOST`, `memory:`. A server that does not
   * answer yet is no error here.
   * @param options `timeoutMs` is what one render may take; 30,000 by default.
   */
  static open(store: string, options?: { timeoutMs?: number }): Promise<Catalogue>;
  /** The address that it was opened with. */
  readonly store: string;
  /** Ids of all prompts, broken ones included, in order. */
  ids(): string[];
  /** Everything that is wrong with the prompts of the store. */
  check(): Finding[];
  /** The text of a prompt; of messages each with its role before it. */
  render(id: string, variables?: Variables, options?: RenderOptions): Promise<string>;
  /** The messages of a prompt; a text is one message of the user. */
  messages(id: string, variables?: Variables, options?: RenderOptions): Promise<Message[]>;
  labels(id: string): Promise<Labels>;
  /** The versions of a prompt, newest first. */
  versions(id: string): Promise<Version[]>;
  /** Writes a template, or a whole definition; gives the number of its version. */
  put(id: string, prompt: string | object, options?: PutOptions): Promise<number>;
  /** Moves a label to a version, or away with `null`; gives all labels of the prompt. */
  setLabel(id: string, label: string, version: number | null): Promise<Labels>;
  /** Removes a prompt with its labels; its versions stay. */
  remove(id: string): Promise<void>;
  /** Waits until all that was written to the store before is seen here. */
  sync(): Promise<void>;
  /** Stops following the store. Whatever is asked for afterwards is an error. */
  close(): void;
}

/** Answer of a model: a text, an assistant message, or a whole chat completion. */
export type Answer = string | object;

/** Event of a script. */
export interface ScriptEvent {
  type: 'printed' | 'message' | 'thinking' | 'tool_call' | 'tool_result' | 'warning';
  [field: string]: unknown;
}

export interface RunOptions {
  /**
   * The model: it is given messages in OpenAI's shape, and what else the request says (`model`,
   * `temperature`, `tools`, `response_format`, …).
   */
  model: (
    messages: Array<Record<string, any>>,
    options: Record<string, any>,
  ) => Answer | Promise<Answer>;
  /** Inputs by name, or one value: the first input, or else what the user says. */
  inputs?: Value | object;
  /** Functions that the script may call, and offer to the model. */
  tools?: Tools;
  /** Most time for all of it; any by default. */
  timeoutMs?: number;
  /** Ends the run. */
  signal?: AbortSignal;
  /** Abilities of the model; `['tools']` by default. Others are requested in the prompt. */
  abilities?: ReadonlyArray<'tools' | 'json_schema' | 'json_object' | 'logit_bias' | 'continues'>;
  /** Parameters of models that win over those of the script. */
  parameters?: object;
  /** Folders in which scripts are looked for that it names. */
  search?: ReadonlyArray<string | URL>;
  /** Where random choices start from. */
  seed?: number;
  /** Bounds. */
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
  /** Folders that it may read; none by default. */
  allowRead?: ReadonlyArray<string | URL>;
  /** Folders that it may write; none by default. */
  allowWrite?: ReadonlyArray<string | URL>;
  /** Whether it may connect to public addresses. */
  allowNet?: boolean;
  /** Whether it may start interpreters of other languages. */
  allowRun?: boolean;
  /** Variables of the environment that it may read. */
  allowEnv?: readonly string[];
}

/**
 * The result of a script: a file, a folder of a package or an id (one line), or the script itself
 * (several).
 */
export function run(script: string | URL, options: RunOptions): Promise<any>;

/** A query that may run. */
export interface Checked {
  /**
   * The text to run: without comments, and with the bound on its rows. It asks for one row more, by
   * which you can tell that some were cut off.
   */
  sql: string;
  /** The same as its author would see it. */
  shown: string;
  /** The tables that it reads, as they were given. */
  tables: string[];
  /** Whether the bound took the place of its own LIMIT, or of none. */
  limited: boolean;
}

export interface CheckOptions {
  /** Most rows; 1,000 by default, `null` for any number. */
  rows?: number | null;
  /** Functions that it may call besides those that are known only to compute. */
  functions?: readonly string[];
  /** `explore` also lets SHOW, DESCRIBE and EXPLAIN pass. */
  mode?: 'select' | 'explore';
}

/**
 * The query, if it only reads.
 * @param tables The tables that it may read, `table` or `schema.table`, with their columns.
 * @throws {QuilletError} It does not: with code, line, column and hint.
 */
export function checkQuery(
  sql: string,
  dialect?: 'postgresql' | 'mysql' | 'sqlite' | (string & {}),
  tables?: Readonly<Record<string, readonly string[]>> | null,
  options?: CheckOptions,
): Checked;
