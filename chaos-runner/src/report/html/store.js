// What the report holds. The run's own words are at hand; the rest is unpacked when it is asked for.

const run = JSON.parse(byId('run').textContent);

/** Unpacked chunks by number, those looked at last stand last. */
const unpacked = new Map();
/** So many stay unpacked: a long history is not held whole. */
const HELD = 64;

async function unpack(number) {
  if (!byId(`chunk-${number}`) && document.readyState === 'loading') {
    await new Promise((done) => document.addEventListener('DOMContentLoaded', done, { once: true }));
  }
  const packed = Uint8Array.from(atob(byId(`chunk-${number}`).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

/** A chunk, unpacked. */
function chunk(number) {
  const known = unpacked.get(number) ?? unpack(number);
  unpacked.delete(number);
  unpacked.set(number, known);
  if (unpacked.size > HELD) unpacked.delete(unpacked.keys().next().value);
  return known;
}

/** The last of `places` (pairs of a first and a chunk, ascending) that begins at or before `wanted`. */
function holding(places, wanted) {
  let [low, high] = [0, places.length - 1];
  while (low < high) {
    const mid = Math.ceil((low + high) / 2);
    if (places[mid][0] <= wanted) low = mid;
    else high = mid - 1;
  }
  return places[low];
}

/** The intent at a place in the order of submission, with its rows. */
async function intentAt(detail, place) {
  const [first, number] = holding(detail.intent_chunks, place);
  return (await chunk(number))[place - first];
}

/** An event by its number. */
async function eventAt(detail, seq) {
  const [first, number] = holding(detail.event_chunks, seq);
  const events = await chunk(number);
  return events[seq - first]?.seq === seq ? events[seq - first] : events.find((event) => event.seq === seq);
}
