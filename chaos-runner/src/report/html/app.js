// The page as a whole: which part of it the address asks for, and the keys.

/** What the address asks for: `#/s/3`, `#/s/3/i/17`, `#/s/3/line/12`; anything else: the first screen. */
function current() {
  const [, scenario, what, which] = /^#\/s\/(\d+)(?:\/(i|line)\/(\d+))?$/.exec(location.hash) ?? [];
  if (scenario === undefined || !run.scenarios[Number(scenario)]) return {};
  const route = { scenario: Number(scenario) };
  if (what === 'i') route.intent = Number(which);
  if (what === 'line') route.line = Number(which);
  return route;
}

/** Where the first screen was scrolled to, to come back to. */
let left = 0;
let before = {};

async function show() {
  const route = current();
  const opened = route.scenario !== undefined;
  byId('event').close();
  if (opened && before.scenario === undefined) left = scrollY;
  byId('overview').hidden = opened;
  byId('scenario').hidden = !opened;
  const name = opened ? run.scenarios[route.scenario].name : run.verdict;
  document.title = `${name} · ${run.client} · chaos-runner`;
  const came = before;
  before = route;
  if (!opened) {
    byId('scenario').replaceChildren();
    scrollTo(0, left);
    if (came.scenario !== undefined) byId('main').focus({ preventScroll: true });
    return;
  }
  if (came.scenario !== route.scenario) scrollTo(0, 0);
  await showScenario(route);
  if (came.scenario !== route.scenario && !route.line) byId('scenario-title')?.focus({ preventScroll: true });
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('dialog')) return;
  if (event.target.closest('input, select, textarea')) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const opened = current().scenario !== undefined;
  const act = {
    '/': () => byId(opened ? 'history-search' : 'scenario-search')?.focus(),
    Escape: () => { if (opened) location.hash = '#/'; },
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

byId('client').textContent = run.client;
byId('about').textContent = [run.at, `engine ${run.engine}`, `seed ${run.seed}`, took(run.duration_ms), `chaos-runner ${run.tool}`].filter(Boolean).join(' · ');
addEventListener('hashchange', show);
showOverview();
show();
