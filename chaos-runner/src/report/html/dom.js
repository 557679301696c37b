// Making elements. Text is only ever set as text: whatever a history holds, it stays words.

const SVG = 'http://www.w3.org/2000/svg';

function filled(made, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'text') made.textContent = value;
    else if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** An element with properties (`text`, `on…`, attributes) and children. */
const el = (name, properties = {}, ...children) => filled(document.createElement(name), properties, children);

/** The same in SVG. */
const svg = (name, properties = {}, ...children) => filled(document.createElementNS(SVG, name), properties, children);

const byId = (id) => document.getElementById(id);

/** Tells whoever cannot see what has changed. */
function say(words) {
  byId('said').textContent = words;
}

/** `1 scenario`, `2 scenarios`. */
const counted = (count, noun) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

/** A time of a history, which is in microseconds, for people. */
function ms(micros) {
  const millis = micros / 1000;
  return `${millis.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ms`;
}

/** A length of time in milliseconds, short. */
function took(millis) {
  const seconds = millis / 1000;
  return seconds >= 60 ? `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s` : `${seconds.toFixed(2)} s`;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Where a page that is opened as a file may not use the clipboard, the old way may do.
    const area = el('textarea', { class: 'hidden', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

/** A button that copies a text and says that it did. */
function copyButton(text, label = 'Copy', what = label) {
  const button = el('button', { type: 'button', class: 'small', text: label, 'aria-label': what });
  button.addEventListener('click', async () => {
    const done = await copy(text);
    button.textContent = done ? 'Copied' : 'Not allowed';
    if (done) say(`Copied ${text}`);
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

/** A command with a button that copies it. */
const command = (text, what = 'Copy the command') => el(
  'div', { class: 'command' }, el('pre', { tabindex: '0', text }), copyButton(text, 'Copy', what),
);

/** A badge for a verdict or a severity: a word, never only a colour. */
const badge = (word, more = '') => el('span', { class: `badge is-${word.replace(' ', '-')} ${more}`, text: word });

/** Waits until a run of quick changes has paused. */
function afterwards(act, millis = 80) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, millis);
  };
}

/** A picture that is drawn anew for each width that its place has, up to `most`. */
function fitted(most, draw) {
  const place = el('div', { class: 'fitted' });
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.min(most, Math.floor(entry.contentRect.width));
    if (now === width || now === 0) return;
    width = now;
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.seq : null;
    place.replaceChildren(draw(width));
    if (focused) place.querySelector(`[data-seq="${focused}"]`)?.focus();
  }).observe(place);
  return place;
}
