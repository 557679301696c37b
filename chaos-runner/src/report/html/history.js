// Everything that was seen, in order: searched, and each event opened.

/** A search: words that must all be met; `intent:`, `attempt:` and `event:` mean those things alone. */
function parsed(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, place, rest] = /^(intent|attempt|event):(.*)$/.exec(word) ?? [null, '', word];
    return { place, word: rest };
  });
}

function meets(event, query) {
  let text = null;
  return query.every(({ place, word }) => {
    if (place === 'event') return event.event.includes(word);
    if (place) return String(event[place] ?? '') === word;
    text ??= `${wordsOf(event)}\n${JSON.stringify(event)}`.toLowerCase();
    return text.includes(word);
  });
}

function historySection(detail, count, openEventOf) {
  if (count === 0) return null;
  /** The events that are found; `null`: all. */
  let hits = null;
  const known = (nth) => {
    if (hits) return hits[nth];
    const each = detail.events_each;
    return loaded.get(Math.floor(nth / each))?.[nth % each];
  };
  const loaded = new Map();
  const load = async (nth) => {
    const block = Math.floor(nth / detail.events_each);
    if (loaded.has(block)) return;
    loaded.set(block, undefined);
    loaded.set(block, await chunk(detail.event_chunks[block][1]));
    if (loaded.size > HELD) loaded.delete(loaded.keys().next().value);
    const first = block * detail.events_each;
    if (!hits) for (let at = first; at < first + detail.events_each; at += 1) list.redraw(at);
  };
  const list = new List({
    label: 'Events', height: 30, plain: 24,
    open: (nth) => {
      const event = known(nth);
      if (event) openEventOf(event.seq);
    },
    draw: (nth) => {
      const event = known(nth);
      if (!event) {
        load(nth);
        return [el('span', { class: 'quiet', text: '…' })];
      }
      return [
        el('span', { class: 'time mono', text: ms(event.at_us) }),
        el('span', { class: `words about-${event.event.split('_')[0]}`, text: wordsOf(event) }),
      ];
    },
  });
  const found = el('p', { class: 'quiet', role: 'status' });
  const words = el('input', { type: 'search', id: 'history-search', placeholder: 'words   intent:1   attempt:2   event:answering', autocomplete: 'off', spellcheck: 'false' });
  let search = 0;
  const look = async () => {
    search += 1;
    const mine = search;
    const query = parsed(words.value);
    if (query.length === 0) {
      hits = null;
      list.set(count);
      found.textContent = counted(count, 'event');
      return;
    }
    const now = [];
    let shown = -1;
    for (const [nth, [, number]] of detail.event_chunks.entries()) {
      const events = await chunk(number);
      if (mine !== search) return;
      now.push(...events.filter((event) => meets(event, query)));
      const last = nth === detail.event_chunks.length - 1;
      // What is found first is in sight at once; the rest is counted when all is read.
      if (last || shown < 0 && now.length > 0) {
        hits = now;
        shown = now.length;
        list.set(shown);
      }
      found.textContent = last ? `${now.length.toLocaleString('en')} of ${counted(count, 'event')}` : `${now.length.toLocaleString('en')} so far …`;
    }
  };
  words.addEventListener('input', afterwards(look, 150));
  look();
  return el(
    'section', { 'aria-label': 'History' },
    el('h2', { text: 'History' }),
    el('div', { class: 'filters' }, el('label', { class: 'search' }, el('span', { class: 'hidden', text: 'Search the history' }), words), found),
    list.element,
  );
}
