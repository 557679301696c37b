// All scripts of one length as a picture: a square for each, in blocks whose rows and columns are the
// last two faults. What cannot be seen is told: by the keys, and in words below.

const GAP = 3;

/** The place among the kinds of what failed so; below 0: it did not fail. */
const kindOf = (cell) => cell.charCodeAt(0) - 'A'.charCodeAt(0);

/** The place of a script in its level: `[x, y]` in squares and gaps. */
function placed(digits, n, square, columns) {
  let x = 0;
  let y = 0;
  let step = square;
  for (let last = digits.length - 1; last >= 0; last -= 2) {
    const outermost = last === 0;
    if (outermost && digits.length > 1) {
      // An odd fault out: its blocks stand in lines, as many in each as there is room for.
      x += (digits[0] % columns) * step;
      y += Math.floor(digits[0] / columns) * step;
    } else {
      x += digits[last] * step;
      if (last > 0) y += digits[last - 1] * step;
    }
    step = step * n + GAP;
  }
  return [x, y];
}

/** Sizes for scripts of a length: the square, the blocks in a line, width and height of it all. */
function measured(length, n, width) {
  const pairs = Math.floor(length / 2);
  const block = (square) => {
    let step = square;
    for (let pair = 0; pair < pairs; pair += 1) step = step * n + GAP;
    return step;
  };
  for (let square = length === 1 ? 22 : 18; ; square -= 1) {
    const side = block(square);
    const columns = length % 2 === 0 ? 1 : Math.max(1, Math.min(n, Math.floor(width / side)));
    const lines = length % 2 === 0 ? 1 : Math.ceil(n / columns);
    const fits = side * columns <= width && (side * lines <= 760 || square <= 4);
    if (fits || square <= 2) return { square, columns, width: side * columns, height: side * lines };
  }
}

class Grid {
  #level;
  #letters = run.alphabet;
  #size;
  #canvas = el('canvas', { tabindex: '0', role: 'img' });
  #told = el('p', { class: 'told quiet', role: 'status' });
  #at = 0;
  #open;
  element;

  /** `open(kind)` is called for a square that failed. */
  constructor(level, open) {
    this.#level = level;
    this.#open = open;
    this.#canvas.setAttribute('aria-label', `${this.#sum()} Left and right change the last fault, up and down the one before, Enter opens a failure.`);
    this.#canvas.addEventListener('pointermove', (event) => this.#point(event));
    this.#canvas.addEventListener('click', (event) => { this.#point(event); this.#enter(); });
    this.#canvas.addEventListener('keydown', (event) => this.#key(event));
    this.element = el('figure', { class: 'level' }, fitted(1140, (width) => this.#drawn(width)), this.#told);
  }

  #sum() {
    const { length, counts } = this.#level;
    return `Scripts of ${counted(length, 'fault')}: ${counts.passed} passed, ${counts.failed} failed, ${counts.lost} lost.`;
  }

  #digits(at) {
    const digits = [];
    for (let left = at, nth = 0; nth < this.#level.length; nth += 1) {
      digits.unshift(left % this.#letters.length);
      left = Math.floor(left / this.#letters.length);
    }
    return digits;
  }

  #drawn(width) {
    const n = this.#letters.length;
    this.#size = measured(this.#level.length, n, width);
    this.#canvas.style.width = `${this.#size.width}px`;
    this.#canvas.style.height = `${this.#size.height}px`;
    this.#paint();
    return this.#canvas;
  }

  #paint() {
    const { square, columns, width, height } = this.#size;
    const scale = devicePixelRatio || 1;
    this.#canvas.width = Math.ceil(width * scale);
    this.#canvas.height = Math.ceil(height * scale);
    const to = this.#canvas.getContext('2d');
    to.scale(scale, scale);
    const colours = palette();
    const side = square > 4 ? square - 1 : square - 0.5;
    for (let at = 0; at < this.#level.cells.length; at += 1) {
      const [x, y] = placed(this.#digits(at), this.#letters.length, square, columns);
      to.fillStyle = colours(this.#level.cells[at]);
      to.fillRect(x, y, side, side);
    }
  }

  #point(event) {
    const { left, top } = this.#canvas.getBoundingClientRect();
    const [wantedX, wantedY] = [event.clientX - left, event.clientY - top];
    const { square, columns } = this.#size;
    const n = this.#letters.length;
    // Block by block, from the outermost in.
    const digits = Array(this.#level.length).fill(0);
    let step = square;
    const steps = [];
    for (let last = digits.length - 1; last >= 0; last -= 2) {
      steps.push([last, step]);
      step = step * n + GAP;
    }
    let [x, y] = [wantedX, wantedY];
    for (const [last, by] of steps.reverse()) {
      const column = Math.floor(x / by);
      const line = Math.floor(y / by);
      if (last === 0 && digits.length > 1) {
        digits[0] = line * columns + column;
        if (column >= columns) return;
      } else {
        digits[last] = column;
        if (last > 0) digits[last - 1] = line;
      }
      x -= column * by;
      y -= line * by;
    }
    if (digits.some((digit) => digit < 0 || digit >= n)) return;
    this.#go(digits);
  }

  #go(digits) {
    this.#at = digits.reduce((sum, digit) => sum * this.#letters.length + digit, 0);
    this.#told.textContent = `${digits.map((digit) => this.#letters[digit]).join(', ')}: ${said(this.#level.cells[this.#at])}`;
  }

  #key(event) {
    const last = this.#level.length - 1;
    const [which, by] = {
      ArrowRight: [last, 1], ArrowLeft: [last, -1], ArrowDown: [Math.max(0, last - 1), 1], ArrowUp: [Math.max(0, last - 1), -1],
    }[event.key] ?? [];
    if (event.key === 'Enter') this.#enter();
    else if (by === undefined) return;
    else {
      // Past its last fault a place goes on at the one before it, as when counting.
      const next = this.#at + by * this.#letters.length ** (last - which);
      if (next >= 0 && next < this.#level.cells.length) this.#go(this.#digits(next));
    }
    event.preventDefault();
  }

  #enter() {
    const kind = kindOf(this.#level.cells[this.#at]);
    if (kind >= 0) this.#open(kind);
  }
}

/** What a square says. */
function said(cell) {
  if (cell === '+') return 'passed';
  if (cell === '?') return 'lost: nothing can be said';
  if (cell === '.') return run.complete ? 'covered: the client does not come to its last fault' : 'not run, or covered by a shorter one';
  return run.kinds[kindOf(cell)].kind;
}

/** A colour for each kind: far apart, and as bright as the paper allows. */
const kindColour = (nth) => `hsl(${(352 + nth * 137.5) % 360} 70% ${matchMedia('(prefers-color-scheme: dark)').matches ? 62 : 44}%)`;

function palette() {
  const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const fixed = { '+': of('--good-ground'), '?': of('--warn'), '.': of('--line') };
  return (cell) => fixed[cell] ?? kindColour(kindOf(cell));
}
