// The intents of a scenario: over time, as a list that can be searched, and each one opened.

/** What became of an intent, in words that do not say more than is known. */
function intentWords({ columns }, place) {
  const attempts = columns.arrivals[place].length;
  const buzzes = columns.buzzes[place].length;
  const outcome = columns.outcome[place];
  return [
    counted(attempts, 'attempt'),
    buzzes === 0 ? 'no buzz' : buzzes === 1 ? '1 buzz' : `${buzzes} buzzes`,
    outcome === null ? 'the client has no record' : `the client says ${outcome}`,
  ].join(' · ');
}

/** The section; `shown` is the number of the intent to open, where the address names one. */
function intentsSection(detail, cited, shown, openEventOf, show) {
  const { columns } = detail;
  const count = columns.number.length;
  if (count === 0) return null;
  const opened = el('div', { class: 'opened', 'aria-live': 'polite' });
  let asked = -1;
  const open = async (place, focus = true) => {
    asked = place;
    const intent = await intentAt(detail, place);
    // Another one was asked for while this one was read.
    if (asked !== place) return;
    opened.replaceChildren(...intentParts(detail, intent, place, cited, openEventOf));
    show(intent.number);
    if (focus && count > 1) {
      opened.querySelector('h3').focus({ preventScroll: true });
      opened.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
    }
  };
  const start = shown === undefined ? -1 : columns.number.indexOf(shown);
  if (start >= 0 || count === 1) open(Math.max(0, start), false);
  if (count === 1) return el('section', { 'aria-label': 'The intent' }, el('h2', { text: 'The message' }), opened);

  let places = columns.number.map((_, place) => place);
  const list = new List({
    label: 'Intents', height: 46, plain: 12, open: (nth) => open(places[nth]),
    draw: (nth) => {
      const place = places[nth];
      const number = columns.number[place];
      const twice = columns.buzzes[place].length > 1;
      return [
        el('span', { class: 'first' }, el('strong', { text: `intent ${number}` }), el('span', { class: 'mono quiet', text: columns.to[place] })),
        el('span', { class: twice ? 'second no' : 'second quiet', text: `${cited.has(number) ? '► ' : ''}${intentWords(detail, place)}` }),
      ];
    },
  });
  const found = el('p', { class: 'quiet', role: 'status' });
  const words = el('input', { type: 'search', id: 'intent-search', placeholder: 'number, phone, code, outcome', autocomplete: 'off', spellcheck: 'false' });
  const only = el('input', { type: 'checkbox', id: 'intent-cited' });
  const narrow = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    places = [];
    for (let place = 0; place < count; place += 1) {
      if (only.checked && !cited.has(columns.number[place])) continue;
      const text = wanted.length === 0 ? '' : `${columns.number[place]} ${columns.to[place]} ${columns.code[place]} ${columns.id[place]} ${columns.outcome[place]}`.toLowerCase();
      if (wanted.every((word) => text.includes(word))) places.push(place);
    }
    list.set(places.length);
    found.textContent = places.length === count ? counted(count, 'intent') : `${places.length.toLocaleString('en')} of ${counted(count, 'intent')}`;
  };
  words.addEventListener('input', afterwards(narrow));
  only.addEventListener('change', narrow);
  narrow();
  return el(
    'section', { 'aria-label': 'Intents' },
    el('h2', { text: 'All messages over time' }),
    new Timeline(detail, cited, (place) => open(place)).element,
    el('div', { class: 'filters' },
      el('label', { class: 'search' }, el('span', { class: 'hidden', text: 'Search intents' }), words),
      cited.size > 0 ? el('label', { class: 'check' }, only, ' only those cited by a finding') : null,
      found),
    list.element,
    opened,
  );
}

/** Rows of an intent with those that concern everyone, while it was under way. */
function withCommon(rows, common) {
  if (rows.length === 0) return rows;
  const [from, to] = [rows[0][0], rows.at(-1)[0]];
  const between = common.filter(([seq]) => seq > from && seq < to);
  return [...rows, ...between].sort((one, other) => one[0] - other[0]);
}

/** An intent of thousands of rows is drawn to here; the history has the rest. */
const DRAWN = 400;

function intentParts(detail, intent, place, cited, openEventOf) {
  const { columns } = detail;
  const rows = withCommon(intent.rows, detail.common);
  const facts = el('dl', { class: 'facts' });
  const fact = (name, value, style = 'mono') => {
    if (value === null || value === undefined) return;
    facts.append(el('dt', { text: name }), el('dd', { class: style, text: value }));
  };
  const outcome = columns.outcome[place];
  fact('Outcome', outcome === null ? 'the client has no record of it' : `the client believes: ${outcome}`, 'strong');
  const buzzes = columns.buzzes[place].length;
  fact('Delivered', buzzes === 0 ? 'never' : buzzes === 1 ? 'once' : `${buzzes} times`, buzzes > 1 ? 'strong no' : 'strong');
  const own = columns.counted[place];
  fact('Attempts', `${columns.arrivals[place].length} on the wire${own === null ? '' : `, ${own} by the client's own count`}`, '');
  fact('To', intent.to);
  fact('Words', intent.body, 'isolate words');
  fact('Customer', intent.customer);
  fact('Id', intent.id);
  fact('Key', intent.key);
  const proofs = detail.findings.filter((finding) => finding.intents[0] === intent.number).flatMap((finding) => finding.sequence.proofs);
  return [
    el('h3', { tabindex: '-1', text: `Intent ${intent.number}${cited.has(intent.number) ? ', cited by a finding' : ''}` }),
    facts,
    // The only message of a scenario is drawn with its finding.
    columns.number.length === 1 && proofs.length > 0 ? null : diagram({ rows: rows.slice(0, DRAWN), proofs, left_out: Math.max(0, rows.length - DRAWN) }, openEventOf, `Intent ${intent.number}, from client to phone`),
  ].filter(Boolean);
}
