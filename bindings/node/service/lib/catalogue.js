'use strict';

const { refused } = require('quillet/internal');
const { drive, isText, known, milliseconds, readTools } = require('./drive');
const { native, toJson, unwrap, write } = require('./native');

const RENDER = ['label', 'version', 'tools', 'onToolError', 'signal'];
const PUT = ['format', 'labels', 'author', 'message'];

/** Default timeout of a render: tools are slower than templates. */
const USUAL_MS = 30_000;

const leftovers = new FinalizationRegistry((number) => native.close(number));

/** The prompts of a store, which is followed: what others write there is seen. */
class Catalogue {
  #number;
  #store;

  constructor(number, store) {
    if (typeof number !== 'number')
      throw refused('option.kind', 'a catalogue cannot be constructed directly', 'await Catalogue.open(store)');
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

  /** The address that it was opened with. */
  get store() {
    return this.#store;
  }

  /** Ids of all prompts, broken ones included, in order. */
  ids() {
    return JSON.parse(unwrap(native.ids(this.#number)));
  }

  /** Everything that is wrong with the prompts of the store. */
  check() {
    return JSON.parse(unwrap(native.findings(this.#number)));
  }

  /** The text of a prompt; of messages each with its role before it. */
  async render(id, variables = {}, options = {}) {
    return this.#rendered(id, variables, options, false);
  }

  /** The messages of a prompt in OpenAI's shape; a text is one message of the user. */
  async messages(id, variables = {}, options = {}) {
    return this.#rendered(id, variables, options, true);
  }

  /** The labels of a prompt: numbers of versions, or shares. */
  async labels(id) {
    return this.#ask('labels', { id: isText('the id', id) });
  }

  /** The versions of a prompt, newest first. */
  async versions(id) {
    return this.#ask('versions', { id: isText('the id', id) });
  }

  /** Writes a prompt, the text of a template or a definition; gives the number of its version. */
  async put(id, prompt, options = {}) {
    known('options', options, PUT);
    const { format = 'jinja', labels = [], author, message = '' } = options;
    if (typeof prompt !== 'string' && (prompt === null || typeof prompt !== 'object'))
      throw refused('option.kind', 'the prompt must be a text or an object', 'give a template');
    if (!Array.isArray(labels) || labels.some((label) => typeof label !== 'string'))
      throw refused('option.kind', 'labels must be a list of names', "give ['production']");
    const definition =
      typeof prompt === 'string' ? { prompt, format: isText('format', format) } : prompt;
    return this.#ask('put', { id: isText('the id', id), definition, labels, author, message });
  }

  /** Moves a label to a version, or away with `null`; gives all labels of the prompt. */
  async setLabel(id, label, version) {
    isText('the label', label);
    return this.#ask('label', { id: isText('the id', id), label, version: number(version) });
  }

  /** Removes a prompt with its labels; its versions stay. */
  async remove(id) {
    await this.#ask('remove', { id: isText('the id', id) });
  }

  /** Waits until all that was written to the store before is seen here. */
  async sync() {
    await this.#ask('sync', {});
  }

  /** Stops following the store. Whatever is asked for afterwards is an error. */
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
      throw refused('option.value', 'a label and a version cannot be combined', 'give one of them');
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

/** The number of a version, or `null` for none. */
function number(version) {
  if (version === null) return null;
  if (!Number.isSafeInteger(version) || version < 1)
    throw refused('option.value', 'the version must be a number from 1', 'give one of versions(id)');
  return version;
}

module.exports = { Catalogue };
