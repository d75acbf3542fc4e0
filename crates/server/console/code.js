// A code editor: a text area with transparent text over the same text with syntax highlighting. The
// server's lexers provide the tokens.

import { h, fill, id, keepLineEndings, lineFeeds, textOf } from './view.js';

/** Longer text is not highlighted, because the browser would lay it out again on every key. */
const MOST = 200_000;

/**
 * `<q-code>`, with `value`, `text`, `label` and `readOnly`. `paint(tokens, findings)` highlights the text.
 * Tokens are `{ start, end, kind }` and findings `{ start, end, severity, message }`, with offsets into
 * `value` in UTF-16 units. Fires `edit` after each change.
 */
class Code extends HTMLElement {
  #area = h('textarea', { spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', wrap: 'soft' });
  #layer = h('pre', { 'aria-hidden': 'true' });
  #menu = h('ul', { class: 'code-menu', role: 'listbox', hidden: true });
  #tokens = [];
  #findings = [];
  #before = '';
  #text = '';
  #offers = [];
  #chosen = 0;
  /** `complete(at)` resolves to `[{ label, detail, start, end }]`. Without it there are no completions. */
  complete = null;

  connectedCallback() {
    if (this.#area.parentNode) return;
    this.append(h('div', { class: 'code-box' }, this.#layer, this.#area), this.#menu);
    this.#menu.id = id('m');
    this.#area.setAttribute('aria-autocomplete', 'list');
    this.#area.addEventListener('input', () => {
      this.#text = keepLineEndings(this.#text, this.value);
      this.#shift();
      this.#draw();
      this.#close();
      this.dispatchEvent(new CustomEvent('edit', { bubbles: true }));
    });
    this.#area.addEventListener('keydown', (event) => this.#key(event));
    this.#area.addEventListener('blur', () => this.#close());
    this.#draw();
  }

  get value() {
    return textOf(this.#area);
  }

  /** Text to save. Lines that were not edited keep the line endings that `value` was set with. */
  get text() {
    return this.#text;
  }

  set value(text) {
    this.#text = text;
    this.#area.value = lineFeeds(text);
    this.#tokens = [];
    this.#findings = [];
    this.#before = this.value;
    this.#draw();
  }

  set label(text) {
    this.#area.setAttribute('aria-label', text);
  }

  set readOnly(is) {
    this.#area.readOnly = is;
  }

  set describedBy(of) {
    this.#area.setAttribute('aria-describedby', of);
  }

  focus() {
    this.#area.focus();
  }

  /** Moves the cursor to an offset. */
  go(at) {
    this.#area.focus();
    this.#area.setSelectionRange(at, at);
  }

  paint(tokens, findings) {
    this.#tokens = tokens;
    this.#findings = findings;
    this.#before = this.value;
    const broken = findings.some((found) => found.severity === 'error');
    this.#area.setAttribute('aria-invalid', String(broken));
    this.#draw();
  }

  /** Shifts the tokens and findings after an edit, until the server returns new ones. */
  #shift() {
    const [was, is] = [this.#before, this.value];
    let start = 0;
    while (start < was.length && was[start] === is[start]) start += 1;
    const by = is.length - was.length;
    let tail = 0;
    while (tail < was.length - start && tail < is.length - start && was[was.length - 1 - tail] === is[is.length - 1 - tail]) tail += 1;
    const end = was.length - tail;
    const moved = (span) => {
      if (span.end <= start) return span;
      if (span.start >= end) return { ...span, start: span.start + by, end: span.end + by };
      return null;
    };
    this.#tokens = this.#tokens.map(moved).filter(Boolean);
    this.#findings = this.#findings.map(moved).filter(Boolean);
    this.#before = is;
  }

  #draw() {
    const text = this.value;
    if (text.length > MOST) {
      fill(this.#layer, `${text}\n`);
      return;
    }
    const cuts = new Set([0, text.length]);
    for (const span of [...this.#tokens, ...this.#findings]) cuts.add(span.start).add(span.end);
    const places = [...cuts].filter((place) => place <= text.length).sort((a, b) => a - b);
    const pieces = [];
    let token = 0;
    for (let at = 0; at + 1 < places.length; at += 1) {
      const [start, end] = [places[at], places[at + 1]];
      while (token < this.#tokens.length && this.#tokens[token].end <= start) token += 1;
      const kind = this.#tokens[token]?.start <= start ? this.#tokens[token].kind : null;
      const found = this.#findings.find((one) => one.start <= start && one.end >= end && one.end > one.start);
      const piece = text.slice(start, end);
      if (!kind && !found) pieces.push(piece);
      else pieces.push(h('span', { class: `${kind ? `k-${kind}` : ''} ${found ? `found-${found.severity}` : ''}`.trim() }, piece));
    }
    fill(this.#layer, pieces, '\n');
  }

  #key(event) {
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault();
      this.#open();
      return;
    }
    if (this.#menu.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      this.#chosen = (this.#chosen + step + this.#offers.length) % this.#offers.length;
      this.#list();
    } else if (event.key === 'Enter' || event.key === 'Tab') {
      event.preventDefault();
      this.#take(this.#offers[this.#chosen]);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      this.#close();
    }
  }

  async #open() {
    if (!this.complete || this.#area.readOnly) return;
    const text = this.value;
    const offers = await this.complete(this.#area.selectionStart).catch(() => []);
    if (text !== this.value || offers.length === 0) return;
    this.#offers = offers.slice(0, 50);
    this.#chosen = 0;
    this.#list();
  }

  #list() {
    const rows = this.#offers.map((offer, index) =>
      h(
        'li',
        {
          role: 'option',
          id: `${this.#menu.id}-${index}`,
          'aria-selected': String(index === this.#chosen),
          onmousedown: (event) => (event.preventDefault(), this.#take(offer)),
        },
        h('b', null, offer.label),
        offer.detail && h('small', null, ` ${offer.detail}`),
      ),
    );
    fill(this.#menu, rows);
    this.#menu.hidden = false;
    this.#area.setAttribute('aria-controls', this.#menu.id);
    this.#area.setAttribute('aria-activedescendant', `${this.#menu.id}-${this.#chosen}`);
    rows[this.#chosen]?.scrollIntoView({ block: 'nearest' });
  }

  #take(offer) {
    this.#area.focus();
    this.#area.setRangeText(offer.label, offer.start, offer.end, 'end');
    this.#area.dispatchEvent(new Event('input', { bubbles: true }));
  }

  #close() {
    this.#menu.hidden = true;
    this.#area.removeAttribute('aria-activedescendant');
  }
}

customElements.define('q-code', Code);
