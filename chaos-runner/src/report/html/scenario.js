// One scenario: what was found, every message, the waits, the history, and the file that provoked it.

/** A finding's standing, where it does not simply count. */
const STANDING = {
  known: (finding) => `known: ${finding.why}`,
  expected: () => 'as the scenario expects',
  doubtful: () => 'doubtful: the client had no processor',
  minor: (finding) => `${finding.severity}: does not count`,
};

const labelled = (list, name, ...what) => list.append(el('dt', { text: name }), el('dd', { class: 'isolate' }, ...what));

/** The place of a fault: a link to its line in this page, and a button for an editor. */
function placeOf(nth, scenario, line) {
  const file = scenario.file ?? `${scenario.name.split('[')[0]}.toml, of the standard suite`;
  const words = line ? `${file}:${line}` : file;
  const link = scenario.source ? el('a', { href: `#/s/${nth}/line/${line ?? 1}`, text: words }) : el('span', { text: words });
  return scenario.file ? [link, ' ', copyButton(words, 'Copy', `Copy ${words}`)] : [link];
}

/** What is said of a finding, in the overview and in its scenario. */
function findingFacts(nth, finding) {
  const scenario = run.scenarios[nth];
  const list = el('dl', { class: 'facts wide' });
  labelled(list, 'What', finding.detail);
  if (finding.fault) labelled(list, 'Provoked', ...placeOf(nth, scenario, finding.line), el('code', { class: 'block', text: finding.fault }));
  labelled(list, 'To do', finding.remedy);
  return list;
}

function findingParts(nth, finding, of, detail, openEventOf) {
  const standing = STANDING[finding.standing]?.(finding);
  const proofs = of.sequence.proofs;
  const more = el('details', {}, el('summary', { text: proofs.length === 2 ? 'The two events that prove it, as they went over the wire' : 'The events that prove it, as they went over the wire' }));
  more.addEventListener('toggle', async () => {
    if (!more.open || more.dataset.filled) return;
    more.dataset.filled = 'yes';
    const pair = el('div', { class: 'pair' });
    for (const seq of proofs.slice(0, 4)) {
      const event = await eventAt(detail, seq);
      if (!event) continue;
      const raw = event.request ? requestPart(event) : event.answer ? answerPart(event) : [];
      pair.append(el('div', {}, el('p', { class: 'isolate' }, el('span', { class: 'mono quiet', text: `${ms(event.at_us)}  ` }), wordsOf(event)), ...raw));
    }
    more.append(pair);
  });
  return el(
    'article', { class: `finding edge-${finding.severity}` },
    el('h3', {}, el('span', { class: 'mono', text: finding.kind }), ' ', badge(finding.severity), standing ? el('span', { class: 'quiet', text: ` ${standing}` }) : null),
    el('p', { class: 'wrong', text: finding.wrong }),
    finding.or_narrower ? el('p', { class: 'quiet', text: 'Or a narrower kind: the scenario that would tell them apart was not run.' }) : null,
    finding.intents > 1 ? el('p', { class: 'quiet', text: `Seen for ${counted(finding.intents, 'intent')}; the first is drawn.` }) : null,
    findingFacts(nth, finding),
    diagram(of.sequence, openEventOf, `${finding.kind}: what happened`),
    proofs.length > 0 ? more : null,
  );
}

/** The file, with the line that is asked for marked. */
async function sourceSection(nth, line) {
  const scenario = run.scenarios[nth];
  const text = (await chunk(run.sources))[scenario.source];
  const lines = text.replace(/\n$/, '').split('\n').map((words, at) => el(
    'span', { class: at + 1 === line ? 'line marked' : 'line', id: `line-${at + 1}`, 'data-line': at + 1, text: `${words}\n` },
  ));
  return el(
    'section', { 'aria-label': 'The scenario' },
    el('h2', { id: 'source', tabindex: '-1', text: 'The scenario' }),
    el('p', { class: 'quiet' }, scenario.file ?? `chaos-runner show ${scenario.source}`),
    el('pre', { class: 'source', tabindex: '0', 'aria-label': 'The scenario file' }, ...lines),
  );
}

/** Draws a scenario into its place. `route` says what of it is asked for. */
async function showScenario(route) {
  const nth = route.scenario;
  const scenario = run.scenarios[nth];
  const place = byId('scenario');
  const head = scenarioHead(nth, scenario);
  place.replaceChildren(...head);
  if (scenario.detail === null) return;
  const detail = await chunk(scenario.detail);
  const openEventOf = (seq) => openEvent(detail, seq);
  const cited = new Set(detail.findings.flatMap((finding) => finding.intents));
  const show = (intent) => {
    if (detail.columns.number.length > 1) history.replaceState(null, '', `#/s/${nth}/i/${intent}`);
  };
  const findings = scenario.findings.map((finding, at) => findingParts(nth, finding, detail.findings[at], detail, openEventOf));
  const source = scenario.source ? await sourceSection(nth, route.line) : null;
  const strays = detail.strays.length === 0 ? null : el(
    'section', { 'aria-label': 'Requests that belong to no message' },
    el('h2', { text: 'Requests that belong to no message' }),
    diagram({ rows: detail.strays.slice(0, DRAWN), left_out: Math.max(0, detail.strays.length - DRAWN) }, openEventOf, 'Requests that belong to no message'),
  );
  const waits = detail.waits === null ? null : el(
    'section', { 'aria-label': 'Waits before retries' },
    el('h2', { text: 'Waits before retries' }),
    el('p', { class: 'quiet', text: `promised: base ${ms(detail.waits.base_us)}, cap ${ms(detail.waits.cap_us)}${detail.waits.jitter ? ', full jitter' : ''}` }),
    waitsFigure(detail.waits),
  );
  // Another one may have been asked for meanwhile.
  if (current().scenario !== nth) return;
  place.replaceChildren(
    ...head,
    ...(findings.length > 0 ? [el('section', { 'aria-label': 'Findings' }, el('h2', { text: counted(findings.length, 'finding') }), ...findings)] : []),
    ...[
      intentsSection(detail, cited, route.intent, openEventOf, show),
      strays, waits,
      historySection(detail, scenario.events, openEventOf),
      source,
    ].filter(Boolean),
  );
  if (route.line) {
    byId(`line-${route.line}`)?.scrollIntoView({ block: 'center' });
    byId('source')?.focus({ preventScroll: true });
  }
}

function scenarioHead(nth, scenario) {
  const facts = el('dl', { class: 'facts' });
  labelled(facts, 'File', ...placeOf(nth, scenario, null));
  if (scenario.tags?.length > 0) labelled(facts, 'Tags', scenario.tags.join(', '));
  labelled(facts, 'Took', `${took(scenario.duration_ms)}: ${counted(scenario.intents, 'message')}, ${counted(scenario.events, 'event')}`);
  for (const missed of scenario.missed) labelled(facts, 'Missed', `${missed} was expected and did not show`);
  for (const unreached of scenario.unreached) {
    labelled(facts, 'Unreached', `line ${unreached.line}: the client had no need to come to it (${unreached.text})`);
  }
  return [
    el('nav', { class: 'path', 'aria-label': 'Where you are' }, el('a', { href: '#/', text: '← All scenarios' }), neighbours(nth)),
    el('h2', { class: 'name', id: 'scenario-title', tabindex: '-1' }, el('span', { class: 'mono isolate', text: scenario.name }), ' ', badge(scenario.verdict)),
    el('p', { class: 'isolate lead', text: scenario.title }),
    scenario.reason ? el('p', { class: 'isolate', text: scenario.reason }) : null,
    facts,
    command(scenario.replay, 'Copy the command that replays it'),
  ].filter(Boolean);
}

/** The scenario before and the one after, of those that are listed. */
function neighbours(nth) {
  const at = listed.indexOf(nth);
  const link = (to, words) => (to === undefined ? null : el('a', { href: `#/s/${to}`, text: words, title: run.scenarios[to].name }));
  return el('span', { class: 'row' }, at > 0 ? link(listed[at - 1], '‹ before') : null, at >= 0 ? link(listed[at + 1], 'next ›') : null);
}
