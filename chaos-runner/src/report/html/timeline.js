// All intents at once, over time: when each was asked for and when its phone buzzed.

/** The lowest and the highest row, and the highest picture, in pixels. */
const [LOWEST, HIGHEST, TALLEST] = [0.001, 18, 420];
const AXIS = 22;

/** The value of a colour of the page's style. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Round steps for an axis that ends at `end` with about `wanted` of them. */
function steps(end, wanted) {
  const rough = Math.max(end / Math.max(1, wanted), 1e-9);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((times) => times * power >= rough) ?? 10);
  const all = [];
  for (let at = 0; at <= end + step * 1e-6; at += step) all.push(at);
  return all;
}

class Timeline {
  #detail;
  #cited;
  #open;
  #box = el('div', { class: 'timeline-box', tabindex: '0', role: 'group' });
  #space = el('div', { class: 'timeline-space' });
  #canvas = el('canvas', { role: 'img' });
  #told = el('p', { class: 'quiet told', role: 'status', text: '' });
  #zoom = 1;
  #due = false;
  element;

  /** `cited`: the numbers of intents that a finding is about. `open(place)` opens an intent. */
  constructor(detail, cited, open) {
    this.#detail = detail;
    this.#cited = cited;
    this.#open = open;
    const { number } = detail.columns;
    this.#canvas.setAttribute('aria-label', `${counted(number.length, 'intent')} over ${ms(detail.end_us)}; the list below says the same in words`);
    this.#box.setAttribute('aria-label', 'Timeline of all intents: arrow keys scroll');
    this.#space.append(this.#canvas);
    this.#box.append(this.#space);
    const zoomed = (times) => () => {
      this.#zoom = Math.max(1, times === 0 ? 1 : this.#zoom * times);
      this.#resize();
    };
    const tall = number.length * HIGHEST > TALLEST;
    const zoom = tall && el(
      'div', { class: 'row', role: 'group', 'aria-label': 'Zoom' },
      el('button', { type: 'button', class: 'small', text: '−', 'aria-label': 'Zoom out', onclick: zoomed(0.5) }),
      el('button', { type: 'button', class: 'small', text: '+', 'aria-label': 'Zoom in', onclick: zoomed(2) }),
      el('button', { type: 'button', class: 'small', text: 'All', 'aria-label': 'Show all', onclick: zoomed(0) }),
    );
    const key = (name, words) => el('span', { class: 'key' }, el('i', { class: `swatch swatch-${name}` }), words);
    this.element = el(
      'div', { class: 'timeline' },
      el('div', { class: 'split' },
        el('p', { class: 'quiet keys' }, key('life', 'from first to last'), key('asked', 'attempt'), key('buzz', 'buzz'), key('double', 'a second buzz, or cited by a finding')),
        zoom || null),
      this.#box, this.#told,
    );
    // From the start, so that nothing moves when the picture is drawn: who clicks meanwhile hits what they see.
    this.#fit();
    this.#box.addEventListener('scroll', () => this.#draw(), { passive: true });
    this.#canvas.addEventListener('pointermove', (event) => this.#tell(event));
    this.#canvas.addEventListener('click', (event) => {
      const place = this.#under(event);
      if (place >= 0) this.#open(place);
    });
    new ResizeObserver(() => this.#resize()).observe(this.#box);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw());
  }

  /** How high a row is now. */
  get #row() {
    const count = Math.max(1, this.#detail.columns.number.length);
    const fit = Math.min(HIGHEST, (TALLEST - AXIS) / count);
    return Math.max(LOWEST, Math.min(HIGHEST, fit * this.#zoom));
  }

  /** Gives everything its height; says the whole picture's. */
  #fit() {
    const count = this.#detail.columns.number.length;
    const height = Math.ceil(count * this.#row) + AXIS;
    const shown = `${Math.min(TALLEST, height)}px`;
    this.#space.style.height = `${height}px`;
    this.#box.style.height = shown;
    this.#canvas.style.height = shown;
    return height;
  }

  #resize() {
    const middle = (this.#box.scrollTop + this.#box.clientHeight / 2) / Math.max(1, this.#space.offsetHeight);
    const height = this.#fit();
    this.#box.scrollTop = middle * height - this.#box.clientHeight / 2;
    this.#draw();
  }

  #draw() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      if (this.#box.isConnected && this.#box.clientWidth > 0) this.#paint();
    });
  }

  /** The first and the last pixel of the time axis. */
  #span(width) {
    return [8, width - 14];
  }

  #paint() {
    const { columns, end_us: end } = this.#detail;
    const [width, height] = [this.#space.clientWidth, this.#box.clientHeight];
    const sharp = globalThis.devicePixelRatio || 1;
    const canvas = this.#canvas;
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext('2d');
    pen.scale(sharp, sharp);
    const [left, right] = this.#span(width);
    const at = (us) => left + (us / Math.max(1, end)) * (right - left);
    pen.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
    pen.textBaseline = 'top';
    for (const us of steps(end, width / 110)) {
      pen.fillStyle = colour('line');
      pen.fillRect(Math.round(at(us)), AXIS - 6, 1, height);
      pen.fillStyle = colour('quiet');
      const words = us >= 1e6 || end >= 5e6 ? `${Number((us / 1e6).toPrecision(6))} s` : `${Number((us / 1000).toPrecision(6))} ms`;
      const wide = pen.measureText(words).width;
      pen.fillText(words, Math.min(width - wide - 2, Math.max(6, at(us) - wide / 2)), 4);
    }
    const row = this.#row;
    const top = this.#box.scrollTop;
    const first = Math.max(0, Math.floor(top / row) - 1);
    const last = Math.min(columns.number.length, Math.ceil((top + height) / row) + 1);
    const thick = Math.max(1, row * 0.5);
    const y = (place) => AXIS + place * row - top;
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, width, height - AXIS);
    pen.clip();
    pen.fillStyle = colour('life');
    for (let n = first; n < last; n += 1) {
      const from = at(columns.from_us[n]);
      pen.fillRect(from, y(n) + row / 2 - Math.max(0.25, thick / 6), Math.max(1, at(columns.to_us[n]) - from), Math.max(0.5, thick / 3));
    }
    const mark = Math.max(1.5, Math.min(4, row * 0.4));
    pen.fillStyle = colour('accent');
    for (let n = first; n < last; n += 1) {
      for (const us of columns.arrivals[n]) pen.fillRect(at(us) - mark / 4, y(n) + (row - thick) / 2, Math.max(1, mark / 2), thick);
    }
    const dot = Math.max(1, Math.min(5, row * 0.28));
    const dots = (fill, wanted) => {
      pen.fillStyle = fill;
      for (let n = first; n < last; n += 1) {
        columns.buzzes[n].forEach((us, nth) => {
          if (nth > 0 !== wanted) return;
          if (row < 6) pen.fillRect(at(us) - dot, y(n) + row / 2 - dot / 2, dot * 2, Math.max(1, dot));
          else {
            pen.beginPath();
            pen.arc(at(us), y(n) + row / 2, dot, 0, 7);
            pen.fill();
          }
        });
      }
    };
    dots(colour('good'), false);
    dots(colour('bad'), true);
    pen.fillStyle = colour('bad');
    for (let n = first; n < last; n += 1) {
      if (this.#cited.has(columns.number[n])) pen.fillRect(0, y(n), 4, Math.max(1, row - 1));
    }
    pen.restore();
  }

  #under(event) {
    const bounds = this.#canvas.getBoundingClientRect();
    const place = Math.floor((event.clientY - bounds.top - AXIS + this.#box.scrollTop) / this.#row);
    return place >= 0 && place < this.#detail.columns.number.length ? place : -1;
  }

  #tell(event) {
    const place = this.#under(event);
    this.#told.textContent = place < 0 ? '' : `intent ${this.#detail.columns.number[place]}: ${intentWords(this.#detail, place)}`;
  }
}
