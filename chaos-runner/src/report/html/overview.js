// The first screen: the verdict, what is wrong and where, and every scenario.

/** The places of the scenarios that are listed, by the filters. */
let listed = run.scenarios.map((_, nth) => nth);

const SAID = { fail: 'failed', inconclusive: 'inconclusive', pass: 'passed', skipped: 'skipped' };

/** The verdict in one sentence. */
function sentence() {
  const { verdict, kinds, counts } = run;
  const of = run.scenarios.length - 1;
  const hit = new Set(kinds.flatMap((kind) => kind.scenarios)).size;
  if (kinds.length > 0) return `${counted(kinds.length, 'kind')} of defect in ${counted(hit, 'scenario')} of ${of}`;
  return {
    pass: `${counted(counts.pass, 'scenario')} passed: no message was lost or sent twice`,
    inconclusive: `Nothing can be said of ${counted(counts.inconclusive, 'scenario')} of ${of}`,
    interrupted: 'The run was interrupted: nothing is said of what did not run',
    'nothing ran': 'No scenario ran',
    fail: `${counted(counts.fail, 'scenario')} of ${of} failed`,
  }[verdict] ?? '';
}

/** The kinds at a glance; each leads to its card. */
function kindsAtAGlance(cards) {
  if (cards.length === 0) return null;
  return el('ol', { class: 'glance' }, ...run.kinds.map((kind, nth) => el(
    'li', {},
    el('button', {
      type: 'button', class: 'plain mono', text: kind.kind,
      onclick: () => {
        cards[nth].open = true;
        cards[nth].scrollIntoView({ block: 'start', behavior: 'smooth' });
        cards[nth].querySelector('summary').focus({ preventScroll: true });
      },
    }),
    badge(kind.severity),
    el('span', { class: 'quiet', text: counted(kind.scenarios.length, 'scenario') }),
    el('span', { class: 'wrong', text: kind.wrong }),
  )));
}

function verdictBlock(filters, cards) {
  const chips = Object.entries(SAID).filter(([word]) => run.counts[word] > 0 || word === 'pass').map(([word, said]) => el(
    'button', { type: 'button', class: `chip is-${word}`, onclick: () => filters.only(word) },
    el('strong', { text: run.counts[word].toLocaleString('en') }), ` ${said}`,
  ));
  return el(
    'section', { class: `verdict is-${run.verdict.replace(' ', '-')}`, 'aria-label': 'Verdict' },
    el('p', { class: 'word', text: run.verdict }),
    el('h2', { text: sentence() }),
    el('div', { class: 'row', role: 'group', 'aria-label': 'Show the scenarios that' }, ...chips),
    kindsAtAGlance(cards),
    el('p', { class: 'todo', text: run.to_do }),
    command(run.replay, 'Copy the command that runs it all again'),
  );
}

/** One kind, with the scenario that shows it most clearly. */
function kindCard(kind, nth, filters) {
  const scenario = run.scenarios[kind.clearest];
  const finding = scenario.findings[kind.finding];
  const others = kind.scenarios.filter((at) => at !== kind.clearest);
  const openEventOf = async (seq) => openEvent(await chunk(scenario.detail), seq);
  const body = el('div', { class: 'kind-body' });
  const card = el(
    'details', { class: `kind edge-${kind.severity}` },
    el('summary', {},
      el('h3', { class: 'mono', text: kind.kind }), badge(kind.severity),
      el('span', { class: 'quiet', text: `in ${counted(kind.scenarios.length, 'scenario')}` }),
      el('span', { class: 'wrong', text: kind.wrong })),
    body,
  );
  const fill = () => {
    if (!card.open || body.childElementCount > 0) return;
    body.append(
      el('p', { class: 'where' }, 'Clearest in ', el('a', { class: 'mono isolate', href: `#/s/${kind.clearest}`, text: scenario.name }), el('span', { class: 'isolate', text: `: ${scenario.title}` })),
      ...(finding ? [findingFacts(kind.clearest, finding)] : []),
      ...(kind.sequence ? [diagram(kind.sequence, openEventOf, `${kind.kind}: what happened`)] : []),
      command(scenario.replay, `Copy the command that replays ${kind.kind}`),
    );
    if (others.length > 0) {
      const links = others.slice(0, 6).flatMap((at) => [' ', el('a', { class: 'mono isolate', href: `#/s/${at}`, text: run.scenarios[at].name })]);
      body.append(el('p', { class: 'also' }, 'Also in', ...links, others.length > 6 ? ' … ' : ' ',
        others.length > 6 ? el('button', { type: 'button', class: 'small', text: `All ${kind.scenarios.length}`, 'aria-label': `All ${kind.scenarios.length} scenarios with ${kind.kind}`, onclick: () => filters.ofKind(kind.kind) }) : null));
    }
  };
  card.addEventListener('toggle', fill);
  if (nth === 0) {
    card.open = true;
    fill();
  }
  return card;
}

const STATES = {
  shows: (known) => `let through until ${known.until}`,
  'no-longer-shows': () => 'no longer shows: its entry can go',
  expired: (known) => `was let through until ${known.until}, and counts again`,
};

function knownBlock() {
  if (run.known.length === 0) return null;
  return el(
    'section', { 'aria-label': 'Known defects' }, el('h2', { text: 'Known' }),
    el('ul', {}, ...run.known.map((known) => el('li', { class: 'isolate' }, el('span', { class: 'mono', text: known.kind }), `: ${known.reason} (${STATES[known.state](known)})`))),
  );
}

/** The scenarios, and what narrows them down. */
class Scenarios {
  #words = el('input', { type: 'search', id: 'scenario-search', placeholder: 'name, title, finding, reason', autocomplete: 'off', spellcheck: 'false' });
  #verdict = this.#choice('Verdict', [...new Set(run.scenarios.map((s) => s.verdict))]);
  #kind = this.#choice('Kind', [...new Set(run.scenarios.flatMap((s) => s.findings.map((f) => f.kind)))].sort());
  #tag = this.#choice('Tag', [...new Set(run.scenarios.flatMap((s) => s.tags ?? []))].sort());
  #found = el('p', { class: 'quiet', role: 'status' });
  #title = el('h2', { tabindex: '-1', text: 'Scenarios' });
  #list = new List({ label: 'Scenarios', height: 62, plain: 300, open: (nth) => { location.hash = `#/s/${listed[nth]}`; }, draw: (nth) => scenarioRow(listed[nth]) });
  element;

  constructor() {
    this.#words.addEventListener('input', afterwards(() => this.#narrow()));
    this.element = el(
      'section', { 'aria-label': 'Scenarios' },
      this.#title,
      el('div', { class: 'filters' },
        el('label', { class: 'search' }, el('span', { class: 'hidden', text: 'Search scenarios' }), this.#words),
        this.#verdict, this.#kind, this.#tag, this.#found),
      this.#list.element,
    );
    this.#narrow();
  }

  #choice(name, values) {
    return el('select', { 'aria-label': name, onchange: () => this.#narrow() },
      el('option', { value: '', text: `Any ${name.toLowerCase()}` }), ...values.map((value) => el('option', { value, text: value })));
  }

  /** Only scenarios of a verdict. */
  only(verdict) {
    this.#set(verdict, '');
  }

  /** Only scenarios that show a kind. */
  ofKind(kind) {
    this.#set('', kind);
  }

  #set(verdict, kind) {
    this.#words.value = '';
    this.#verdict.value = verdict;
    this.#kind.value = kind;
    this.#tag.value = '';
    this.#narrow();
    this.#title.focus({ preventScroll: true });
    this.#title.scrollIntoView({ block: 'start', behavior: 'smooth' });
  }

  #narrow() {
    const wanted = this.#words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [verdict, kind, tag] = [this.#verdict.value, this.#kind.value, this.#tag.value];
    listed = [];
    run.scenarios.forEach((scenario, nth) => {
      if (verdict && scenario.verdict !== verdict) return;
      if (kind && !scenario.findings.some((finding) => finding.kind === kind)) return;
      if (tag && !scenario.tags?.includes(tag)) return;
      const text = [scenario.name, scenario.title, scenario.reason, scenario.file, ...(scenario.tags ?? []), ...scenario.findings.flatMap((f) => [f.kind, f.detail])].join('\n').toLowerCase();
      if (wanted.every((word) => text.includes(word))) listed.push(nth);
    });
    const all = run.scenarios.length;
    this.#found.textContent = listed.length === all ? `${counted(all - 1, 'scenario')} and the run without faults` : `${listed.length} of ${all}`;
    this.#list.set(listed.length);
  }
}

function scenarioRow(nth) {
  const scenario = run.scenarios[nth];
  const kinds = scenario.findings.map((f) => f.kind);
  const said = scenario.reason ?? (kinds.length > 0 ? kinds.join(', ') : scenario.title);
  return [
    badge(scenario.verdict, 'fixed'),
    el('span', { class: 'first' }, el('strong', { class: 'mono isolate', text: scenario.name }), nth === 0 ? el('span', { class: 'quiet', text: 'the run without faults' }) : null),
    el('span', { class: scenario.verdict === 'fail' ? 'second no' : 'second quiet', text: said }),
    el('span', { class: 'time quiet', text: scenario.verdict === 'skipped' ? '' : took(scenario.duration_ms) }),
  ];
}

function showOverview() {
  const filters = new Scenarios();
  const kinds = run.kinds.map((kind, nth) => kindCard(kind, nth, filters));
  byId('overview').replaceChildren(...[
    verdictBlock(filters, kinds),
    kinds.length > 0 ? el('section', { 'aria-label': 'What is wrong' }, el('h2', { text: 'What is wrong, and where' }), ...kinds) : null,
    knownBlock(),
    filters.element,
  ].filter(Boolean));
}

// On paper every kind is told, not only the one that is open.
addEventListener('beforeprint', () => {
  for (const card of document.querySelectorAll('details.kind')) {
    card.open = true;
    card.dispatchEvent(new Event('toggle'));
  }
});
