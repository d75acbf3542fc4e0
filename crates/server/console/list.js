// A list of any length: only the rows that can be seen are there.

import { h, fill } from './view.js';

const ROW = 40;
const BEYOND = 8;

/**
 * `<q-list>`. `show({ label, row, items, more })`: `row(item)` gives `{ href, cells }`; `more()`
 * promises further items, and none at the end. Arrow keys, Page, Home and End move between rows.
 */
class List extends HTMLElement {
  #items = [];
  #row;
  #more;
  #loading = false;
  #ended = true;
  #at = 0;
  #space = h('div', { class: 'list-space' });
  #first = -1;
  #last = -1;

  connectedCallback() {
    if (this.#space.parentNode === this) return;
    this.append(this.#space);
    this.addEventListener('scroll', () => this.#draw(), { passive: true });
    this.addEventListener('keydown', (event) => this.#key(event));
    new ResizeObserver(() => this.#draw()).observe(this);
  }

  show({ label, row, items, more }) {
    this.setAttribute('role', 'list');
    this.setAttribute('aria-label', label);
    this.#row = row;
    this.#items = items;
    this.#more = more;
    this.#ended = !more;
    this.#at = 0;
    this.scrollTop = 0;
    this.#renew();
  }

  get size() {
    return this.#items.length;
  }

  #renew() {
    this.#first = -1;
    this.#space.style.height = `${this.#items.length * ROW}px`;
    this.#draw();
  }

  #draw() {
    if (!this.#row) return;
    const first = Math.max(0, Math.floor(this.scrollTop / ROW) - BEYOND);
    const last = Math.min(this.#items.length, Math.ceil((this.scrollTop + this.clientHeight) / ROW) + BEYOND);
    if (last + BEYOND >= this.#items.length) this.#load();
    if (first === this.#first && last === this.#last) return;
    const focused = this.contains(document.activeElement) && document.activeElement !== this;
    [this.#first, this.#last] = [first, last];
    const rows = this.#items.slice(first, last).map((item, index) => this.#make(item, first + index));
    fill(this.#space, rows);
    if (focused) this.#focus(false);
  }

  #make(item, index) {
    const { href, cells, current } = this.#row(item);
    const row = h(
      'div',
      { class: 'list-row', role: 'listitem', 'aria-setsize': this.#ended ? this.#items.length : -1, 'aria-posinset': index + 1 },
      h(
        'a',
        {
          href,
          tabindex: index === this.#at ? 0 : -1,
          'aria-current': current ? 'true' : null,
          data: { index },
          onfocus: () => (this.#at = index),
        },
        cells,
      ),
    );
    row.style.transform = `translateY(${index * ROW}px)`;
    return row;
  }

  async #load() {
    if (this.#loading || this.#ended) return;
    this.#loading = true;
    const more = this.#more;
    const found = await more().catch(() => []);
    this.#loading = false;
    // Another list is shown by now.
    if (more !== this.#more) return;
    this.#ended = found.length === 0;
    if (this.#ended) return;
    this.#items = this.#items.concat(found);
    this.#renew();
  }

  #focus(move) {
    const row = this.#space.querySelector(`a[data-index="${this.#at}"]`);
    if (!row) return;
    if (move) {
      for (const other of this.#space.querySelectorAll('a')) other.tabIndex = -1;
      row.tabIndex = 0;
    }
    row.focus({ preventScroll: true });
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const last = this.#items.length - 1;
    this.#at = Math.min(last, Math.max(0, this.#at + step));
    const top = this.#at * ROW;
    if (top < this.scrollTop) this.scrollTop = top;
    if (top + ROW > this.scrollTop + this.clientHeight) this.scrollTop = top + ROW - this.clientHeight;
    this.#draw();
    this.#focus(true);
  }
}

customElements.define('q-list', List);
