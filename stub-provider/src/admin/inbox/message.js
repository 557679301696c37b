// One message with everything that is known of it: every attempt on the wire, what its key is
// bound to, what was replayed, and its receipts.

import { ask, byId, clockTime, copyButton, el } from "./dom.js";

export class Message {
  #state;
  #close;
  #place = byId("message");

  constructor(state, close) {
    this.#state = state;
    this.#close = close;
  }

  async open(id) {
    this.#state.opened = id;
    let found;
    try {
      found = await ask("GET", `/admin/message?id=${encodeURIComponent(id)}`);
    } catch (error) {
      this.#show(el("p", { class: "no", text: error.message }));
      return;
    }
    if (this.#state.opened !== id) return;
    const { message, attempts, receipts } = found;
    this.#show(
      facts(message, attempts),
      el("h3", { text: attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts` }),
      ...attempts.map((attempt) => row(attempt, message)),
      el("h3", { text: "Receipts" }),
      receipts.length === 0
        ? el("p", { class: "quiet", text: "None was sent. Set a callback for them: --callback, or POST /admin/callback." })
        : el("ul", { class: "receipts" }, ...receipts.map(receipt)),
    );
  }

  close() {
    this.#state.opened = null;
    this.#place.hidden = true;
    document.querySelector("main").classList.remove("opened");
  }

  #show(...parts) {
    const close = el("button", { type: "button", class: "close small", text: "Close", onclick: this.#close });
    this.#place.replaceChildren(close, el("h2", { text: "Message" }), ...parts);
    this.#place.hidden = false;
    document.querySelector("main").classList.add("opened");
    close.focus({ preventScroll: true });
  }
}

function facts(message, attempts) {
  const list = el("dl", { class: "facts" });
  const fact = (name, value, ...more) => {
    if (value === null || value === undefined) return;
    list.append(el("dt", { text: name }), el("dd", {}, el("span", { class: "mono", text: value }), ...more));
  };
  fact("Id", message.id, " ", copyButton(message.id, "Copy"));
  fact("Key", message.idempotency_key ?? "none: nothing tells a retry from a second message");
  const bound = attempts.find((attempt) => attempt.attempt === message.attempt)?.fingerprint;
  fact("Bound to", bound && `sha-256 ${bound}`);
  fact("To", message.to);
  fact("From", message.sender);
  fact("Customer", message.customer);
  fact("State", message.status);
  fact("Accepted", message.at);
  fact("Tag", message.tag);
  fact("Billed as", `${message.segments.count} × ${message.segments.encoding} (${message.segments.units} units)`);
  fact("Sent twice", message.double ? "yes" : null);
  return list;
}

/** What became of an attempt, in words that do not say more than is known. */
function outcome(attempt, message) {
  if (attempt.message && attempt.message === message.id) return ["good", "accepted: the phone buzzed"];
  if (attempt.message) return ["no", "accepted again: the phone buzzed again"];
  if (attempt.reached === "replayed") return ["good", "known key: the stored answer again"];
  if (attempt.status >= 200 && attempt.status < 300) return ["good", "the stored answer again"];
  if (attempt.status) return ["unsure", "not accepted"];
  return ["unsure", "not accepted, not answered"];
}

const ENDS = {
  answered: "answer handed over", truncated: "answer cut short by the provider", reset: "RST by the provider",
  closed: "closed by the provider", "client-closed": "the client hung up first", "client-reset": "the client reset first",
  crashed: "the provider crashed", shutdown: "the provider stopped",
};

function row(attempt, message) {
  const [mood, words] = outcome(attempt, message);
  const head = [`${attempt.method} ${attempt.target}`, ...attempt.headers.map(([name, value]) => `${name}: ${value}`)];
  return el(
    "details",
    { class: "attempt" },
    el(
      "summary",
      {},
      el("strong", { text: `#${attempt.attempt}` }),
      el("time", { datetime: attempt.at, text: clockTime(attempt.at) }),
      attempt.status ? el("span", { class: "mono", text: attempt.status }) : null,
      el("span", { class: mood, text: words }),
      el("span", { class: "quiet", text: attempt.end ? ENDS[attempt.end] ?? attempt.end : "still open" }),
    ),
    el(
      "div",
      {},
      el("p", { class: "quiet", text: `Connection ${attempt.connection}, request ${attempt.nth_on_connection} on it` }),
      attempt.fingerprint ? el("p", { class: "quiet mono", text: `sha-256 ${attempt.fingerprint}` }) : null,
      el("pre", { tabindex: "0", "aria-label": "The request", text: `${head.join("\n")}\n\n${attempt.body}` }),
    ),
  );
}

function receipt(one) {
  const answered = one.answered === null ? ["unsure", "nobody knows whether it arrived"]
    : one.answered >= 200 && one.answered < 300 ? ["good", `acknowledged with ${one.answered}`]
    : ["no", `answered ${one.answered}`];
  return el(
    "li",
    {},
    el("time", { datetime: one.at, text: clockTime(one.at) }), " ",
    el("strong", { text: one.status }), ` try ${one.attempt} `,
    el("span", { class: answered[0], text: answered[1] }), " ",
    el("span", { class: "mono quiet", text: one.event_id }),
  );
}
