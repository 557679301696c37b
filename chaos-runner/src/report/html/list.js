// A list of any length: only what is in sight is in the page.

/** How many lists there have been: each row has an id of its own. */
let lists = 0;

class List {
  #box;
  #inner = el('div', { class: 'rows-inner', role: 'presentation' });
  #made = new Map();
  #height;
  #draw;
  #open;
  #count = 0;
  #active = -1;
  #id;

  #plain;

  /**
   * `draw(nth)` makes a row's children, `open(nth)` is what a click or Enter does. Up to `plain` rows
   * stand in the page as they are, and are printed; more are looked at through a box.
   */
  constructor({ label, height, plain, draw, open }) {
    this.#plain = plain;
    this.#height = height;
    this.#draw = draw;
    this.#open = open;
    lists += 1;
    this.#id = `list-${lists}`;
    this.#box = el('div', { class: 'rows', role: 'listbox', tabindex: '0', 'aria-label': label }, this.#inner);
    this.#box.addEventListener('scroll', () => this.#show(), { passive: true });
    this.#box.addEventListener('keydown', (event) => this.#key(event));
    this.#box.addEventListener('click', (event) => {
      const row = event.target.closest('[data-nth]');
      if (!row) return;
      this.#activate(Number(row.dataset.nth));
      this.#open(this.#active);
    });
    new ResizeObserver(() => this.#show()).observe(this.#box);
  }

  get element() {
    return this.#box;
  }

  /** There are so many rows now, and all may have changed. */
  set(count) {
    this.#count = count;
    this.#active = -1;
    this.#box.removeAttribute('aria-activedescendant');
    this.#box.scrollTop = 0;
    for (const row of this.#made.values()) row.remove();
    this.#made.clear();
    this.#inner.style.height = `${count * this.#height}px`;
    this.#box.classList.toggle('plain', count <= this.#plain);
    this.#box.hidden = count === 0;
    this.#show();
  }

  /** Brings a row into sight and marks it. */
  reveal(nth) {
    this.#activate(nth);
  }

  #show() {
    const plain = this.#count <= this.#plain;
    const top = plain ? 0 : this.#box.scrollTop;
    const room = plain ? Infinity : this.#box.clientHeight;
    const first = Math.max(0, Math.floor(top / this.#height) - 4);
    const last = Math.min(this.#count, Math.ceil((top + room) / this.#height) + 4);
    for (const [nth, row] of this.#made) {
      if (nth >= first && nth < last) continue;
      row.remove();
      this.#made.delete(nth);
    }
    for (let nth = first; nth < last; nth += 1) {
      if (!this.#made.has(nth)) this.#add(nth);
    }
  }

  #add(nth) {
    const row = el('div', {
      class: 'item', role: 'option', id: `${this.#id}-${nth}`, 'data-nth': nth,
      'aria-posinset': nth + 1, 'aria-setsize': this.#count, 'aria-selected': String(nth === this.#active),
    }, ...this.#draw(nth));
    row.style.top = `${nth * this.#height}px`;
    row.style.height = `${this.#height}px`;
    this.#made.set(nth, row);
    this.#inner.append(row);
  }

  /** A row whose content came late is drawn again. */
  redraw(nth) {
    this.#made.get(nth)?.replaceChildren(...this.#draw(nth));
  }

  #activate(nth) {
    if (nth < 0 || nth >= this.#count) return;
    this.#made.get(this.#active)?.setAttribute('aria-selected', 'false');
    this.#active = nth;
    const top = nth * this.#height;
    if (this.#count > this.#plain) {
      const box = this.#box;
      if (top < box.scrollTop) box.scrollTop = top;
      else if (top + this.#height > box.scrollTop + box.clientHeight) box.scrollTop = top + this.#height - box.clientHeight;
    }
    this.#show();
    const row = this.#made.get(nth);
    row?.setAttribute('aria-selected', 'true');
    if (this.#count <= this.#plain) row?.scrollIntoView({ block: 'nearest' });
    this.#box.setAttribute('aria-activedescendant', `${this.#id}-${nth}`);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.#box.clientHeight / this.#height) - 1);
    const to = {
      ArrowDown: this.#active + 1, j: this.#active + 1, ArrowUp: this.#active - 1, k: this.#active - 1,
      PageDown: Math.min(this.#count - 1, this.#active + page), PageUp: Math.max(0, this.#active - page),
      Home: 0, End: this.#count - 1,
    }[event.key];
    if (to !== undefined) this.#activate(Math.max(0, Math.min(this.#count - 1, to)));
    else if ((event.key === 'Enter' || event.key === ' ') && this.#active >= 0) this.#open(this.#active);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
