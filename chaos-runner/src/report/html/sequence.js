// A sequence diagram: who said what to whom, with the events that prove a finding marked.

const LIFELINES = ['client', 'proxy', 'provider', 'phone'];
/** The height of a row and of the head, in pixels. */
const ROW = 34;
const HEAD = 28;

/** Rows come as arrays: see `row` in detail.rs. */
const asRow = ([seq, at, words, from, to, lost]) => ({ seq, at, words, from, to, lost });

const segmenter = new Intl.Segmenter();

/** As much of a text as fits into so many columns; what is wide in a monospaced font counts twice. */
function fitting(text, columns) {
  if (text.length <= columns && /^[\x20-\x7e]*$/.test(text)) return text;
  let [shown, used] = ['', 0];
  for (const { segment } of segmenter.segment(text)) {
    const wide = segment.codePointAt(0) > 0x10ff ? 2 : 1;
    if (used + wide > columns) return `${shown.trimEnd()}…`;
    shown += segment;
    used += wide;
  }
  return shown;
}

/** What a row says, for whoever hears it. */
function spoken(row, proves) {
  const said = row.to === undefined
    ? `at the ${LIFELINES[row.from]}: ${row.words}`
    : `${LIFELINES[row.from]} to ${LIFELINES[row.to]}: ${row.words}${row.lost ? ', which does not arrive' : ''}`;
  return `${ms(row.at)}, ${said}${proves ? '; proves it' : ''}`;
}

/** The diagram as a figure that fits its place, whatever that becomes. `open(seq)` opens an event. */
function diagram({ rows: raw, proofs = [], left_out: leftOut = 0 }, open, label = 'What happened') {
  const rows = raw.map(asRow);
  const proving = new Set(proofs);
  const figure = el('figure', { class: 'diagram' }, fitted(900, (width) => drawn(rows, proving, width, open, label)));
  const words = [];
  if (rows.some((row) => proving.has(row.seq))) words.push('► proves it');
  if (leftOut > 0) words.push(`${counted(leftOut, 'more event')} left out here; the history has them`);
  if (open) words.push('press a row for what went over the wire');
  if (words.length > 0) figure.append(el('figcaption', { class: 'quiet', text: words.join(' · ') }));
  return figure;
}

function drawn(rows, proving, width, open, label) {
  const narrow = width < 560;
  const letter = narrow ? 6.4 : 7.3;
  const gutter = narrow ? 50 : 104;
  const right = narrow ? 26 : 48;
  const columns = [0, 0.325, 0.66, 1].map((part) => Math.round(gutter + 18 + part * (width - gutter - 18 - right)));
  const height = HEAD + rows.length * ROW + 6;
  const picture = svg('svg', {
    viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': label,
    class: narrow ? 'sequence narrow' : 'sequence',
  });
  LIFELINES.forEach((name, nth) => picture.append(
    svg('text', { x: columns[nth], y: 14, class: 'middle head', text: name }),
    svg('line', { x1: columns[nth], x2: columns[nth], y1: 22, y2: height, class: 'life' }),
  ));
  rows.forEach((row, nth) => {
    const top = HEAD + nth * ROW;
    const proves = proving.has(row.seq);
    const time = narrow ? (row.at / 1000).toFixed(0) : ms(row.at);
    const drawing = svg(
      'g', { 'aria-hidden': 'true' },
      svg('rect', { x: 1, y: 1, width: width - 2, height: ROW - 2, rx: 5, class: 'ground' }),
      svg('text', { x: gutter - 14, y: 21, class: 'end time', text: time }),
      proves && svg('text', { x: gutter - 8, y: 21, class: 'mark', text: '►' }),
      ...(row.to === undefined ? note(row, columns, width, letter) : arrow(row, columns, width, letter)),
    );
    const group = svg(
      'g', { class: proves ? 'row proves' : 'row', transform: `translate(0 ${top})` },
      svg('title', { text: `${ms(row.at)}  ${row.words}` }), drawing, pressed(row, proves, width, open),
    );
    picture.append(group);
  });
  return picture;
}

/** What lies over a row: a button where there is something to open, else only its words. */
function pressed(row, proves, width, open) {
  const over = { x: 1, y: 1, width: width - 2, height: ROW - 2, rx: 5, class: 'hit', 'aria-label': spoken(row, proves) };
  if (!open) return svg('rect', { ...over, role: 'img' });
  const act = () => open(row.seq);
  const button = svg('rect', { ...over, role: 'button', tabindex: '0', 'data-seq': row.seq, onclick: act });
  button.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    act();
  });
  return button;
}

/** A word at a line; where there is no room to its right, it begins further left. */
function note(row, columns, width, letter) {
  const at = columns[row.from];
  const needed = row.words.length * letter + 10;
  const x = Math.max(columns[0] + 7, Math.min(at + 7, width - needed));
  const words = fitting(row.words, Math.floor((width - x - 3) / letter));
  return [svg('text', { x, y: 21, class: 'over', text: words })];
}

function arrow(row, columns, width, letter) {
  const [from, to] = [columns[row.from], columns[row.to]];
  const y = 26;
  const back = to > from ? to - 7 : to + 7;
  const head = row.lost ? `M${Math.min(to, back)} ${y - 4}l8 8m0-8l-8 8` : `M${back} ${y - 4}L${to} ${y}L${back} ${y + 4}`;
  const lost = row.lost ? 'wire lost' : 'wire';
  const x = Math.min(from, to) + 7;
  const room = Math.max(from, to) - x - 4;
  // On a phone a label may go on beyond its arrow: nothing else stands in its row.
  const words = fitting(row.words, Math.floor(Math.max(room, width < 560 ? width - x - 4 : 0) / letter));
  return [
    svg('line', { x1: from, x2: to, y1: y, y2: y, class: lost }),
    svg('path', { d: head, class: lost }),
    svg('text', { x: words.length * letter > room ? Math.max(columns[0] + 7, Math.min(x, width - words.length * letter - 4)) : x, y: 18, class: 'over', text: words }),
  ];
}
