// Setting faults by hand, and keeping those in force in sight.

import { ask, byId, el, say } from "./dom.js";

/** What can go wrong with the next attempt, in two clicks. */
const PRESETS = [
  ["Accept, then hang", "The answer never comes: a timeout is not a no", { hang: { stage: "after-accept" } }],
  ["Accept, then reset", "RST in place of the answer", { reset: { stage: "after-accept" } }],
  ["Accept, then close", "FIN in place of the answer", { close: { stage: "after-accept" } }],
  ["Accept, answer 500", "The error says nothing of the phone", { respond: { stage: "after-accept", status: 500 } }],
  ["Accept, cut the answer", "After 20 bytes of the body, then FIN", { truncate: { stage: "after-accept", part: "body", after: 20, ending: "close" } }],
  ["Refuse: 503", "Nothing is accepted", { respond: { stage: "before-accept", status: 503 } }],
  ["Refuse: 429", "Retry-After: 2", { "rate-limit": { "retry-after": "2s" } }],
  ["Hang, accept nothing", "Looks the same to the client", { hang: { stage: "before-accept" } }],
  ["Reset, accept nothing", "Looks the same to the client", { reset: { stage: "before-accept" } }],
];

export class Faults {
  #state;
  #dialog = byId("faults");
  #strip = byId("in-force");
  #button = byId("open-faults");

  constructor(state) {
    this.#state = state;
    this.#button.addEventListener("click", () => this.open());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
  }

  open() {
    const every = el("input", { type: "checkbox", id: "every" });
    const wrong = el("p", { class: "no", role: "alert" });
    const presets = PRESETS.map(([what, then, provider]) => {
      const set = async () => {
        try {
          await ask("POST", "/admin/faults", { provider, once: !every.checked });
          say(`Set: ${what}`);
          this.#dialog.close();
        } catch (error) {
          wrong.textContent = error.message;
        }
      };
      return el("button", { type: "button", onclick: set }, el("span", { class: "what", text: what }), el("span", { class: "then", text: then }));
    });
    this.#dialog.replaceChildren(
      el("button", { type: "button", class: "close small", text: "Close", onclick: () => this.#dialog.close() }),
      el("h2", { id: "faults-title", text: "The next attempt" }),
      el("div", { class: "presets" }, ...presets),
      el("p", {}, every, " ", el("label", { for: "every", text: "every attempt from now on, until it is lifted" })),
      wrong,
      el("p", { class: "quiet", text: "Exact attempts of a key, receipts and the rest: POST /admin/faults (see /openapi.json)." }),
    );
    this.#dialog.showModal();
  }

  draw() {
    const { faults } = this.#state;
    this.#button.textContent = faults.length === 0 ? "Faults" : `Faults (${faults.length})`;
    this.#strip.hidden = faults.length === 0;
    const lift = (query) => ask("DELETE", `/admin/faults${query}`).catch((error) => say(error.message));
    this.#strip.replaceChildren(
      el("strong", { text: faults.length === 1 ? "1 fault in force" : `${faults.length} faults in force` }),
      ...faults.slice(0, 8).map((fault) => el(
        "span",
        { class: "one" },
        el("span", { text: words(fault) }),
        el("button", { type: "button", class: "small", text: "Lift", "aria-label": `Lift: ${words(fault)}`, onclick: () => lift(`?id=${fault.id}`) }),
      )),
      faults.length > 1 ? el("button", { type: "button", class: "small", text: "Lift all", onclick: () => lift("") }) : null,
    );
  }
}

/** A fault in words: for whom, and what. */
function words(fault) {
  const [kind, how] = Object.entries(fault.provider ?? fault.receipt)[0];
  const { stage, ...rest } = typeof how === "object" && how !== null ? how : { is: how };
  const known = PRESETS.find(([, , provider]) => JSON.stringify(sorted(provider)) === JSON.stringify(sorted(fault.provider ?? {})));
  const details = Object.entries(rest).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`);
  const what = known ? known[0].toLowerCase() : [fault.receipt ? `receipt ${kind}` : kind, stage, ...details].filter(Boolean).join(" ");
  const whose = [
    fault.once ? "the next" : fault.attempt === "all" || fault.attempt === undefined || fault.attempt === "1.." ? "every attempt" : `attempt ${fault.attempt}`,
    fault.key && `of key ${fault.key}`, fault.to && `to ${fault.to}`, fault.intent && `of intent ${fault.intent}`,
  ].filter(Boolean).join(" ");
  return `${whose}: ${what}`;
}

function sorted(value) {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}
