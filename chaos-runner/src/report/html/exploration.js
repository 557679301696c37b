// An exploration: the verdict, what was covered, what failed by which smallest script.

function sentence() {
  const { kinds, known, total, verdict } = run;
  if (run.baseline) return `Without any fault the client does not deliver each message once: ${run.baseline}`;
  if (kinds.length > 0) return `${counted(kinds.length, 'kind')} of defect, ${kinds.length > 1 ? 'each ' : ''}with its smallest script`;
  if (verdict === 'pass') return `All ${counted(total, 'script')} known, and none sends a message twice or loses it`;
  return `${known.toLocaleString('en')} of ${counted(total, 'script')} known, and none of them is wrong`;
}

function kindCard(kind, nth) {
  const swatch = el('span', { class: 'swatch swatch-kind' });
  swatch.style.background = kindColour(nth);
  return el(
    'details', { class: `kind edge-${kind.severity}`, open: nth === 0 },
    el('summary', {},
      swatch, el('h3', { class: 'mono', text: kind.kind }), badge(kind.severity),
      el('span', { class: 'quiet', text: `in ${counted(kind.scripts, 'script')}` }),
      el('span', { class: 'wrong', text: kind.wrong })),
    el('div', { class: 'kind-body' },
      el('dl', { class: 'facts' },
        ...[
          ['Smallest script', kind.script + (kind.company > 1 ? ` (${kind.company} messages at once)` : '')],
          ...kind.beside.map((script) => ['Beside it', script]),
          ['Seen', kind.detail],
          ['Nearest', kind.neighbour],
          ['Alone', `came back in ${kind.reproduced} of ${kind.runs} runs`],
          ['Scenario', kind.scenario],
        ].filter(([, what]) => what).flatMap(([label, what]) => [el('dt', { text: label }), el('dd', { text: what })])),
      el('p', { class: 'todo', text: kind.remedy }),
      kind.replay ? command(kind.replay, `Copy the command that replays ${kind.kind}`) : null),
  );
}

function levelsTable() {
  const heads = ['Faults', 'Run', 'Passed', 'Failed', 'Lost', 'Longer ones covered', 'Time'];
  return el(
    'div', { class: 'table-box', tabindex: '0', role: 'group', 'aria-label': 'By length' },
    el('table', {},
      el('caption', { class: 'hidden', text: 'Scripts by length' }),
      el('thead', {}, el('tr', {}, ...heads.map((head) => el('th', { scope: 'col', text: head })))),
      el('tbody', {}, ...run.levels.map(({ length, counts, millis }) => el(
        'tr', {}, el('th', { scope: 'row', text: length === 0 ? 'at random' : String(length) }),
        ...[counts.run, counts.passed, counts.failed, counts.lost, counts.covered].map((n) => el('td', { text: n.toLocaleString('en') })),
        el('td', { text: took(millis) }),
      )))),
  );
}

function legend() {
  const colours = palette();
  const keys = [['+', 'passed'], ['.', run.complete ? 'covered' : 'covered, or not run'], ['?', 'lost']]
    .filter(([code]) => run.levels.some((level) => level.cells?.includes(code)))
    .map(([code, words]) => [colours(code), words]);
  for (const [nth, kind] of run.kinds.entries()) keys.push([kindColour(nth), kind.kind]);
  return el('p', { class: 'keys quiet' }, ...keys.map(([colour, words]) => {
    const swatch = el('span', { class: 'swatch swatch-kind' });
    swatch.style.background = colour;
    return el('span', { class: 'key' }, swatch, words);
  }));
}

function gridsSection(cards) {
  const drawn = run.levels.filter((level) => level.cells);
  if (drawn.length === 0) return null;
  const open = (nth) => {
    const card = cards[nth];
    if (!card) return;
    card.open = true;
    card.scrollIntoView({ block: 'start', behavior: 'smooth' });
    card.querySelector('summary').focus({ preventScroll: true });
  };
  return el(
    'section', { 'aria-label': 'All scripts' }, el('h2', { text: 'All scripts' }), legend(),
    ...drawn.flatMap((level) => [
      el('h3', { text: counted(level.length, 'fault') }),
      el('p', { class: 'quiet', text: level.length === 1 ? `From left to right: ${run.alphabet.join(', ')}.` : 'The last fault goes from left to right, the one before it from top to bottom, earlier ones from block to block.' }),
      new Grid(level, open).element,
    ]),
  );
}

function showExploration() {
  const cards = run.kinds.map(kindCard);
  const told = [...run.unconfirmed, run.unsteady, run.slow, run.stopped, ...run.doubts].filter(Boolean);
  byId('main').append(
    el(
      'section', { class: `verdict is-${run.verdict.replace(' ', '-')}`, 'aria-label': 'Verdict' },
      el('p', { class: 'word', text: run.verdict }),
      el('h2', { text: sentence() }),
      el('p', { text: `${run.known.toLocaleString('en')} of ${counted(run.total, 'script')} known: ${run.counts.run.toLocaleString('en')} run, ${run.counts.covered.toLocaleString('en')} covered by shorter ones.` }),
      ...told.map((text) => el('p', { class: 'notice', text })),
      el('p', { class: 'todo', text: run.to_do }),
    ),
  );
  if (cards.length > 0) byId('main').append(el('section', { 'aria-label': 'What is wrong' }, el('h2', { text: 'What is wrong' }), ...cards));
  byId('main').append(...[gridsSection(cards), el('section', { 'aria-label': 'By length' }, el('h2', { text: 'By length' }), levelsTable())].filter(Boolean));
}

const run = JSON.parse(byId('run').textContent);
document.title = `${run.verdict} · ${run.client} · chaos-runner`;
byId('client').textContent = run.client;
byId('about').textContent = [run.began.replace(/\.\d+Z$/, 'Z'), `${run.alphabet.length} faults`, `depth ${run.depth}`, `seed ${run.seed}`, run.shard === '1/1' ? null : `part ${run.shard}`, took(run.duration_ms), `chaos-runner ${run.tool}`].filter(Boolean).join(' · ');
showExploration();
