// What the page knows: messages by phone, in the order of their coming, and which of them should
// not have come. It draws nothing.

/** Equal words to one phone within this time look like one message sent twice, in milliseconds. */
const SOON = 120_000;

export class State {
  constructor() {
    this.chosen = null;
    this.opened = null;
    this.query = parse("");
    this.faults = [];
    this.online = true;
    this.clear();
  }

  clear() {
    /** Phones by number; the one that buzzed last stands last. */
    this.phones = new Map();
    this.byKey = new Map();
    this.total = 0;
    /** Keys under which more than one message was delivered. */
    this.doubles = new Set();
    this.replies = new Map();
  }

  add(messages) {
    for (const message of messages) this.#addOne(message);
  }

  #addOne(message) {
    const number = message.to ?? "(no number)";
    let phone = this.phones.get(number);
    if (phone) this.phones.delete(number);
    else phone = { number, messages: [], words: new Map(), double: 0, again: 0 };
    this.phones.set(number, phone);
    this.total += 1;

    if (message.idempotency_key !== null) {
      const key = `${message.customer}\0${message.idempotency_key}`;
      const one = this.byKey.get(key) ?? { first: message, phone, count: 0 };
      this.byKey.set(key, one);
      one.count += 1;
      if (one.count > 1) {
        one.first.double = message.double = true;
        this.doubles.add(key);
        for (const buzzed of [one.phone, phone]) buzzed.double = Math.max(buzzed.double, one.count);
      }
    }
    const before = phone.words.get(message.body);
    if (before && !message.double && Date.parse(message.at) - Date.parse(before.at) < SOON) {
      before.again = message.again = true;
      phone.again += 1;
    }
    phone.words.set(message.body, message);
    phone.messages.push(message);
  }

  search(text) {
    this.query = parse(text);
  }

  /** The phones with a message that is looked for, the latest first. */
  visiblePhones() {
    const all = [...this.phones.values()].reverse();
    if (this.query.length === 0) return all;
    return all.filter((phone) => phone.messages.some((message) => matches(message, this.query)));
  }

  /** The messages of a phone that are looked for. */
  visibleMessages(phone) {
    if (this.query.length === 0) return phone.messages;
    return phone.messages.filter((message) => matches(message, this.query));
  }

  /** Every message that is looked for. */
  visible() {
    return this.visiblePhones().flatMap((phone) => this.visibleMessages(phone));
  }
}

/** A search: words that must all be met, `to:`, `key:` and `tag:` in those places alone. */
function parse(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, place, rest] = /^(to|key|tag):(.*)$/.exec(word) ?? [null, "", word];
    return { place, word: rest };
  });
}

function matches(message, query) {
  const places = { to: message.to, key: message.idempotency_key, tag: message.tag };
  return query.every(({ place, word }) => {
    const texts = place ? [places[place]] : [message.body, message.id, ...Object.values(places)];
    return texts.some((text) => text?.toLowerCase().includes(word));
  });
}
