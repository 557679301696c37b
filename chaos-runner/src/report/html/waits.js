// How long the client waited before each retry, against the envelope of full jitter that it
// promises: a wait drawn from 0 to min(cap, base · 2ⁿ).

/** A number between 0 and 1 that is always the same for the same two: spreads dots that would hide each other. */
const scattered = (a, b) => ((Math.imul(a, 2654435761) ^ Math.imul(b, 40503)) >>> 0) / 2 ** 32;

/** A time on an axis. */
const short = (us, top) => (us >= 1e6 || top >= 5e6 ? `${Number((us / 1e6).toPrecision(4))} s` : `${Number((us / 1000).toPrecision(4))} ms`);

function waitsFigure(waits) {
  const { base_us: base, cap_us: cap, jitter, all } = waits;
  if (all.length === 0) return el('p', { class: 'quiet', text: 'The client came back for nothing: there is no wait to plot.' });
  const deepest = all.reduce((most, [nth]) => Math.max(most, nth), 1);
  const limit = (nth) => Math.min(cap, base * 2 ** (nth - 1));
  const longest = all.reduce((most, wait) => Math.max(most, wait[1]), limit(deepest));
  const asked = all.filter(([, , wanted]) => wanted !== null);
  // What asks for a day would press all others flat.
  const bars = asked.filter(([, , wanted]) => wanted <= 4 * longest);
  const plot = { all, bars, deepest, limit, top: 1.08 * bars.reduce((most, wait) => Math.max(most, wait[2]), longest), label: waitsWords(waits, asked.length) };
  const has = (sort) => all.some((wait) => wait[3] === sort);
  const key = (name, words) => el('span', { class: 'key' }, el('i', { class: `swatch swatch-${name}` }), words);
  const beyond = asked.length - bars.length;
  return el(
    'figure', { class: 'waits-figure' },
    fitted(900, (width) => waitsPlot(plot, width)),
    el('figcaption', { class: 'quiet keys' },
      key('envelope', jitter ? 'what full jitter draws from: 0 to min(cap, base · 2ⁿ)' : 'the longest wait promised'),
      has('own') && key('own', 'after a refusal or a server error'),
      asked.length > 0 && key('retry-after', 'Retry-After: not before this'),
      has('asked') && key('asked', 'the wait that followed it'),
      has('other') && key('other', 'after a lost answer, a restart and the like'),
      beyond > 0 && el('span', { text: `${counted(beyond, 'Retry-After')} beyond the picture` }),
      el('span', { text: 'Each wait is counted at the provider, from answer to next request: the network and a busy processor are in it.' })),
  );
}

function waitsPlot({ all, bars, deepest, limit, top, label }, width) {
  const [height, left, right, bottom] = [width < 560 ? 240 : 300, 60, 10, 40];
  const slot = (width - left - right) / deepest;
  const x = (nth, part) => left + (nth - 1 + part) * slot;
  const y = (us) => height - bottom - (us / top) * (height - bottom - 12);
  const spread = (nth, intent) => x(nth, 0.12 + 0.76 * scattered(intent, nth));
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, class: 'waits', role: 'img', 'aria-label': label });
  for (const us of steps(top, 5)) {
    picture.append(
      svg('line', { x1: left, x2: width - right, y1: y(us), y2: y(us), class: 'grid' }),
      svg('text', { x: left - 6, y: y(us) + 4, class: 'end', text: short(us, top) }),
    );
  }
  let outline = `M${x(1, 0)} ${y(0)}`;
  const every = Math.ceil(26 / slot);
  for (let nth = 1; nth <= deepest; nth += 1) {
    outline += `V${y(limit(nth))}H${x(nth, 1)}`;
    if (nth % every === 0) picture.append(svg('text', { x: x(nth, 0.5), y: height - bottom + 17, class: 'middle', text: nth }));
  }
  const dots = (sort) => all.filter((wait) => wait[3] === sort)
    .map(([nth, gap, , , intent]) => `M${spread(nth, intent).toFixed(1)} ${y(gap).toFixed(1)}h0`).join('');
  picture.append(
    svg('path', { d: `${outline}V${y(0)}Z`, class: 'envelope' }),
    svg('text', { x: (left + width - right) / 2, y: height - 5, class: 'middle', text: 'retry' }),
    ...['other', 'own', 'asked'].map((sort) => svg('path', { d: dots(sort), class: `dots dots-${sort}` })),
    svg('path', { class: 'asked-bar', d: bars.map(([nth, , wanted, , intent]) => `M${(spread(nth, intent) - 6).toFixed(1)} ${y(wanted).toFixed(1)}h12`).join('') }),
  );
  return picture;
}

/** The plot in words. */
function waitsWords({ base_us: base, cap_us: cap, all }, asked) {
  const own = all.filter((wait) => wait[3] === 'own');
  const above = own.filter(([nth, gap]) => gap > Math.min(cap, base * 2 ** (nth - 1))).length;
  const early = all.filter(([, gap, wanted]) => wanted !== null && gap < wanted).length;
  return `${counted(all.length, 'wait')} before retries; ${own.length} of the client's own, ${above} of them longer than min(${ms(cap)}, ${ms(base)} times 2 to the n); ${asked} after a Retry-After, ${early} of them shorter than it asked`;
}
