// The phones down the side. Only the rows in sight are elements, so that ten thousand phones cost
// no more than twenty.

import { byId, clockTime, el } from "./dom.js";

const ROW = 64;
/** Rows beyond the edges that are made all the same. */
const MARGIN = 6;

export class Phones {
  #state;
  #choose;
  #list = byId("phone-list");
  #rows = byId("phone-rows");
  #shown = [];

  constructor(state, choose) {
    this.#state = state;
    this.#choose = choose;
    this.#list.addEventListener("scroll", () => this.#fill(), { passive: true });
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#fill()).observe(this.#list);
  }

  draw() {
    this.#shown = this.#state.visiblePhones();
    this.#rows.style.height = `${this.#shown.length * ROW}px`;
    this.#fill();
  }

  /** Chooses the phone that many rows further down. */
  move(by) {
    const at = this.#shown.findIndex((phone) => phone.number === this.#state.chosen);
    const next = this.#shown[Math.min(Math.max(at + by, 0), this.#shown.length - 1)];
    if (!next) return;
    this.#choose(next.number);
    const top = this.#shown.indexOf(next) * ROW;
    if (top < this.#list.scrollTop) this.#list.scrollTop = top;
    const least = top + ROW - this.#list.clientHeight;
    if (least > this.#list.scrollTop) this.#list.scrollTop = least;
  }

  focus() {
    this.#list.focus();
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.#list.clientHeight / ROW) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.move(by);
  }

  #fill() {
    const first = Math.max(0, Math.floor(this.#list.scrollTop / ROW) - MARGIN);
    const count = Math.ceil(this.#list.clientHeight / ROW) + 2 * MARGIN;
    const rows = this.#shown.slice(first, first + count).map((phone, nth) => this.#row(phone, first + nth));
    this.#rows.replaceChildren(...rows);
    const active = rows.find((row) => row.getAttribute("aria-selected") === "true");
    if (active) this.#list.setAttribute("aria-activedescendant", active.id);
    else this.#list.removeAttribute("aria-activedescendant");
  }

  #row(phone, place) {
    const last = phone.messages[phone.messages.length - 1];
    const row = el(
      "div",
      {
        class: "phone", role: "option", id: `phone-${place}`,
        "aria-selected": phone.number === this.#state.chosen ? "true" : "false",
        "aria-setsize": this.#shown.length, "aria-posinset": place + 1,
        onclick: () => this.#choose(phone.number),
      },
      el("span", { class: "number", dir: "ltr", text: phone.number }),
      el("time", { datetime: last.at, text: clockTime(last.at) }),
      el("span", { class: "last", dir: "auto", text: last.body ?? "" }),
      mark(phone),
    );
    row.style.top = `${place * ROW}px`;
    return row;
  }
}

function mark(phone) {
  if (phone.double) return el("span", { class: "badge", text: `buzzed ${phone.double}×` });
  if (phone.again) return el("span", { class: "badge soft", text: "again" });
  return el("span", { class: "count", text: phone.messages.length });
}
