// One event: in words, and as it went over the wire.

const ENDS = {
  answered: 'answered whole', truncated: 'cut short by the provider', reset: 'reset by the provider',
  closed: 'closed by the provider', crashed: 'the provider was gone', shutdown: 'the provider stopped',
  'client-closed': 'the client hung up', 'client-reset': 'the client reset',
};

const nameOf = (process) => {
  if (typeof process === 'string') return process;
  const [[what, number]] = Object.entries(process);
  return what === 'submit' ? `submit command of intent ${number}` : `${what} ${number}`;
};

const exitWords = (exit) => (exit === null || exit === undefined ? '' : `, exit code ${exit}`);

/** What an event says, by its kind. */
const WORDS = {
  submitted: (e) => `intent ${e.intent} is handed to the client${e.submission === 'first' ? '' : e.submission === 'again' ? ' again' : ' again, with other words'}`,
  submit_ended: (e) => `the client ${e.accepted ? 'takes on' : 'does not take on'} intent ${e.intent}${exitWords(e.exit)}${e.status ? `, status ${e.status}` : ''}`,
  process_started: (e) => `${nameOf(e.process)} starts${e.nth > 1 ? `, for the ${e.nth}. time` : ''}`,
  process_ended: (e) => `${nameOf(e.process)} ends${exitWords(e.exit)}`,
  process_signalled: (e) => `${nameOf(e.process)}: ${e.signal}`,
  connection_opened: (e) => `connection ${e.connection} is opened at provider ${e.provider}`,
  connection_closed: (e) => `connection ${e.connection} is over: ${ENDS[e.end] ?? e.end}`,
  unread: (e) => `a request on connection ${e.connection} was never read whole: ${e.reason}`,
  attempt: (e) => `#${e.attempt} ${e.request.method} ${e.request.target}${e.intent === null ? ', for no intent' : ` for intent ${e.intent}`}, ${e.key === null ? 'no key' : `key ${e.key}`}`,
  held: (e) => `#${e.attempt} is held (${e.stage})`,
  released: (e) => `#${e.attempt} is let go (${e.stage})`,
  fault_applied: (e) => `fault ${e.fault} is put in place${e.attempt ? ` for #${e.attempt}` : ''}`,
  fault_fired: (e) => `fault ${e.fault} acts${e.attempt ? ` on #${e.attempt}` : ''}`,
  fault_healed: (e) => `fault ${e.fault} is taken away`,
  delivered: (e) => `#${e.attempt} is accepted: the phone buzzes (${e.message})`,
  replayed: (e) => `#${e.attempt} gets the stored answer of #${e.of}`,
  answering: (e) => `#${e.attempt} is answered ${e.answer.status}`,
  ended: (e) => `#${e.attempt} is over: ${ENDS[e.end] ?? e.end}`,
  receipt: (e) => `receipt for ${e.message}: ${e.status}, ${e.answered === null ? 'nobody knows whether it arrived' : `answered ${e.answered}`}`,
  provider_crashed: (e) => `provider ${e.provider} is gone`,
  provider_restarted: (e) => `provider ${e.provider} is back`,
  believed: (e) => `the client believes of intent ${e.intent}: ${e.outcome}${e.attempts === null ? '' : `, after ${counted(e.attempts, 'attempt')}`}`,
  forgotten: (e) => `the client has no record of intent ${e.intent}`,
  settled: () => 'nothing more is due',
  timed_out: (e) => `the time limit of ${ms(e.limit_us)} is reached`,
  starved: (e) => `the client had no processor for ${ms(e.for_us)}`,
  remark: (e) => e.text,
};

const wordsOf = (event) => (WORDS[event.event] ?? (() => event.event))(event);

/** A body as text; bytes that are none as numbers. */
const bodyOf = (body) => (typeof body === 'string' ? body
  : body.map((byte) => byte.toString(16).padStart(2, '0')).join(' '));

const rawOf = (first, message) => {
  const head = [first, ...message.headers.map(([name, value]) => `${name}: ${value}`)];
  return `${head.join('\n')}\n\n${bodyOf(message.body)}`;
};

const rawPart = (title, text) => [
  el('div', { class: 'split' }, el('h3', { text: title }), copyButton(text, 'Copy', `Copy: ${title}`)),
  el('pre', { tabindex: '0', 'aria-label': title, text }),
];

const requestPart = (e) => rawPart(`Request #${e.attempt}`, rawOf(`${e.request.method} ${e.request.target}`, e.request));
const answerPart = (e) => rawPart(`Answer to #${e.attempt}`, rawOf(`HTTP/1.1 ${e.answer.status}`, e.answer));

/** The request and the answer that an event is about. */
async function wire(detail, event) {
  const { id, arrived, answered } = detail.requests;
  const nth = id.indexOf(event.attempt);
  if (nth < 0) return [];
  const [request, answer] = await Promise.all([
    eventAt(detail, arrived[nth]), answered[nth] > 0 ? eventAt(detail, answered[nth]) : null,
  ]);
  return [
    ...(request ? requestPart(request) : []),
    ...(answer ? answerPart(answer) : [el('p', { class: 'quiet', text: 'It was not answered.' })]),
  ];
}

/** Opens an event over the page. */
async function openEvent(detail, seq) {
  const dialog = byId('event');
  const event = await eventAt(detail, seq);
  if (!event) return;
  const parts = event.attempt === undefined || event.attempt === null ? [] : await wire(detail, event);
  const close = el('button', { type: 'button', class: 'close small', text: 'Close', onclick: () => dialog.close() });
  dialog.replaceChildren(
    close,
    el('h2', { id: 'event-title', text: `Event ${event.seq}` }),
    el('p', {}, el('span', { class: 'mono quiet', text: `${ms(event.at_us)}  ` }), el('span', { class: 'isolate', text: wordsOf(event) })),
    ...parts,
    el('details', {}, el('summary', { text: 'As the history has it' }),
      el('pre', { tabindex: '0', 'aria-label': 'The event as JSON', text: JSON.stringify(event, null, 2) })),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  close.focus({ preventScroll: true });
}

byId('event').addEventListener('click', (event) => {
  if (event.target === byId('event')) byId('event').close();
});
