'use strict';

const { refused } = require('quillet/internal');
const { drive, isText, known, milliseconds, readTools } = require('./drive');
const { native, toJson, unwrap, write } = require('./native');

const RENDER = ['label', 'version', 'tools', 'onToolError', 'signal'];
const PUT = ['format', 'labels', 'author', 'message'];

/** Default timeout of a render; longer than for templates alone, because tools are slower. */
const USUAL_MS = 30_000;

const leftovers = new FinalizationRegistry((number) => native.close(number));

/** The prompts of a store, kept up to date with writes by other programs. */
class Catalogue {
  #number;
  #store;

  constructor(number, store) {
    if (typeof number !== 'number')
      throw refused(
        'option.kind',
        'a catalogue cannot be constructed directly',
        'await Catalogue.open(store)',
      );
    this.#number = number;
    this.#store = store;
    leftovers.register(this, number, this);
  }

  /** Opens a store: `dir:PATH`, `sqlite:FILE`, `redis://HOST`, `memory:`. */
  static async open(store, options = {}) {
    isText('the store', store);
    if (store === '')
      throw refused(
        'option.value',
        'the store is empty',
        'give dir:PATH, sqlite:FILE, redis://HOST or memory:',
      );
    known('options', options, ['timeoutMs']);
    const time = milliseconds('timeoutMs', options.timeoutMs) ?? USUAL_MS;
    const number = await drive((bell) => native.open(store, time, bell));
    return new Catalogue(number, store);
  }

  /** The address the store was opened with. */
  get store() {
    return this.#store;
  }

  /** Sorted ids of all prompts, including invalid ones. */
  ids() {
    return JSON.parse(unwrap(native.ids(this.#number)));
  }

  /** Diagnostics of all prompts in the store. */
  check() {
    return JSON.parse(unwrap(native.findings(this.#number)));
  }

  /** Renders a prompt to text, with the role before each message. */
  async render(id, variables = {}, options = {}) {
    return this.#rendered(id, variables, options, false);
  }

  /** Renders a prompt to messages in OpenAI's format. A text becomes one user message. */
  async messages(id, variables = {}, options = {}) {
    return this.#rendered(id, variables, options, true);
  }

  /** The labels of a prompt: version numbers, or weights by version. */
  async labels(id) {
    return this.#ask('labels', { id: isText('the id', id) });
  }

  /** Versions of a prompt, newest first. */
  async versions(id) {
    return this.#ask('versions', { id: isText('the id', id) });
  }

  /** Writes a prompt from the text of a template or a definition. Returns its version number. */
  async put(id, prompt, options = {}) {
    known('options', options, PUT);
    const { format = 'jinja', labels = [], author, message = '' } = options;
    if (typeof prompt !== 'string' && (prompt === null || typeof prompt !== 'object'))
      throw refused('option.kind', 'the prompt must be a string or an object', 'pass a template');
    if (!Array.isArray(labels) || labels.some((label) => typeof label !== 'string'))
      throw refused('option.kind', 'labels must be a list of names', "give ['production']");
    const definition =
      typeof prompt === 'string' ? { prompt, format: isText('format', format) } : prompt;
    return this.#ask('put', { id: isText('the id', id), definition, labels, author, message });
  }

  /** Moves a label to a version, or removes it with `null`. Returns all labels of the prompt. */
  async setLabel(id, label, version) {
    isText('the label', label);
    return this.#ask('label', { id: isText('the id', id), label, version: number(version) });
  }

  /** Removes a prompt and its labels, but keeps its versions. */
  async remove(id) {
    await this.#ask('remove', { id: isText('the id', id) });
  }

  /** Waits until the catalogue has seen all earlier writes to the store. */
  async sync() {
    await this.#ask('sync', {});
  }

  /** Stops following the store. All later requests fail. */
  close() {
    leftovers.unregister(this);
    native.close(this.#number);
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    this.close();
  }

  #ask(what, given) {
    const json = toJson(given);
    return drive((bell) => native.ask(this.#number, what, json, bell));
  }

  #rendered(id, variables, options, asMessages) {
    known('options', options, RENDER);
    isText('the id', id);
    if (variables === null || typeof variables !== 'object' || Array.isArray(variables))
      throw refused('value.kind', 'the variables must be an object', 'give { name: value }');
    const { label, version, tools, onToolError, signal } = options;
    if (label !== undefined && version !== undefined)
      throw refused(
        'option.value',
        'a label and a version cannot be combined',
        'pass only one of them',
      );
    if (label !== undefined) isText('label', label);
    const { functions, described } = readTools(tools);
    const request = toJson({
      id,
      label,
      version: version === undefined ? undefined : number(version),
      asMessages,
      tools: described,
    });
    const begin = (bell) =>
      write('variables', variables, (encoder, words, count, text, units) =>
        native.render(this.#number, request, encoder, words, count, text, units, bell),
      );
    return drive(begin, { functions, signal, onToolError });
  }
}

/** Validates a version number, or `null` for none. */
function number(version) {
  if (version === null) return null;
  if (!Number.isSafeInteger(version) || version < 1)
    throw refused(
      'option.value',
      'the version must be a number, at least 1',
      'pass a number that versions(id) lists',
    );
  return version;
}

module.exports = { Catalogue };
