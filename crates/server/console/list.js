// A virtual list of any length: only visible rows are in the page.

import { h, fill } from './view.js';

const ROW = 40;
const BEYOND = 8;

/**
 * `<q-list>`. `show({ label, row, items, more })`: `row(item)` returns `{ href, cells }`, and `more()`
 * resolves to further items, or none at the end. Arrow keys, Page Up, Page Down, Home and End move
 * between rows.
 *
 * With `tree: true`, items have `level`, `place` and `size`, and items with children have `expanded`. A
 * click, Left and Right call `toggle(item)`. With `marked: true`, only a click on a cell's `.fold`
 * toggles, and rows indent their own cells. `kept` keeps the scroll position.
 */
class List extends HTMLElement {
  #items = [];
  #own = false;
  #row;
  #more;
  #tree = false;
  #marked = false;
  #toggle;
  #loading = false;
  #ended = true;
  #at = 0;
  #stop = 0;
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

  show({ label, row, items, more, tree = false, marked = false, toggle, kept = false }) {
    // An empty element must not have the role of a list.
    if (items.length > 0) this.setAttribute('role', tree ? 'tree' : 'list');
    else this.removeAttribute('role');
    if (items.length > 0) this.setAttribute('aria-label', label);
    else this.removeAttribute('aria-label');
    this.#tree = tree;
    this.#marked = marked;
    this.#toggle = toggle;
    this.#row = row;
    this.#items = items;
    this.#own = false;
    this.#more = more;
    this.#ended = !more;
    if (!kept) {
      this.#at = 0;
      this.scrollTop = 0;
    }
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
    // One row is always in the tab order.
    const seen = Math.min(this.#items.length - 1, Math.ceil(this.scrollTop / ROW));
    this.#stop = this.#at >= first && this.#at < last ? this.#at : seen;
    const rows = this.#items.slice(first, last).map((item, index) => this.#make(item, first + index));
    fill(this.#space, rows);
    if (focused) this.#focus(false);
  }

  #make(item, index) {
    const { href, cells, current } = this.#row(item);
    const opens = this.#tree && item.expanded !== undefined;
    const place = this.#tree
      ? { role: 'treeitem', 'aria-level': item.level, 'aria-posinset': item.place, 'aria-setsize': item.size, 'aria-expanded': opens ? String(item.expanded) : null }
      : {};
    const row = h(
      'div',
      this.#tree
        ? { class: 'list-row', role: 'none' }
        : { class: 'list-row', role: 'listitem', 'aria-setsize': this.#ended ? this.#items.length : -1, 'aria-posinset': index + 1 },
      h(
        'a',
        {
          href,
          ...place,
          onclick: opens ? (event) => this.#press(event, item, index) : null,
          tabindex: index === this.#stop ? 0 : -1,
          'aria-current': current ? 'true' : null,
          data: { index },
          onfocus: () => (this.#at = index),
        },
        cells,
      ),
    );
    row.style.transform = `translateY(${index * ROW}px)`;
    if (this.#tree && !this.#marked) row.firstChild.style.paddingInlineStart = `${0.9 + (item.level - 1) * 1.2}rem`;
    return row;
  }

  #press(event, item, index) {
    // With a modifier key, the browser opens the link.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (this.#marked && !event.target.closest('.fold')) return;
    event.preventDefault();
    event.stopPropagation();
    this.#at = index;
    this.#toggle(item);
  }

  /** Handles Left and Right in a tree: expand, collapse, go to the first child, go to the parent. */
  #side(key) {
    const item = this.#items[this.#at];
    if (!item) return;
    const opening = key === 'ArrowRight';
    if (item.expanded !== undefined && item.expanded !== opening) this.#toggle(item);
    else if (opening && item.expanded) this.#move(this.#at + 1);
    else if (!opening) {
      let above = this.#at;
      while (above > 0 && this.#items[above].level >= item.level) above -= 1;
      if (this.#items[above].level < item.level) this.#move(above);
    }
  }

  async #load() {
    if (this.#loading || this.#ended) return;
    this.#loading = true;
    const more = this.#more;
    const found = await more().catch(() => []);
    this.#loading = false;
    // Another list was shown meanwhile.
    if (more !== this.#more) return;
    this.#ended = found.length === 0;
    if (this.#ended) return;
    // Copies the array before adding to it, so the caller's array stays unchanged.
    if (!this.#own) this.#items = [...this.#items];
    this.#own = true;
    for (const one of found) this.#items.push(one);
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
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (this.#tree && (event.key === 'ArrowRight' || event.key === 'ArrowLeft')) {
      event.preventDefault();
      this.#side(event.key);
      return;
    }
    if (step === undefined) return;
    event.preventDefault();
    this.#move(this.#at + step);
  }

  #move(to) {
    const last = this.#items.length - 1;
    this.#at = Math.min(last, Math.max(0, to));
    const top = this.#at * ROW;
    if (top < this.scrollTop) this.scrollTop = top;
    if (top + ROW > this.scrollTop + this.clientHeight) this.scrollTop = top + ROW - this.clientHeight;
    this.#draw();
    this.#focus(true);
  }
}

customElements.define('q-list', List);
