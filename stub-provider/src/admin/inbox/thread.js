// The messages of one phone, as the phone shows them, and replying as the phone.

import { ask, byId, clockTime, copyButton, el, say } from "./dom.js";

/** How many messages are shown before somebody asks for more. */
const AT_ONCE = 200;

export class Thread {
  #state;
  #open;
  #back;
  #place = byId("thread");
  #limit = AT_ONCE;
  #curl = "";
  #drawn = null;

  constructor(state, open, back) {
    this.#state = state;
    this.#open = open;
    this.#back = back;
  }

  /** The command that sends a first message. */
  set curl(command) {
    this.#curl = command;
  }

  draw() {
    const phone = this.#state.phones.get(this.#state.chosen);
    if (!phone) {
      this.#drawn = null;
      this.#place.replaceChildren(this.#state.total === 0 ? this.#welcome() : this.#unchosen());
      return;
    }
    if (this.#drawn !== phone.number) {
      this.#limit = AT_ONCE;
      this.#drawn = phone.number;
      this.#place.replaceChildren(this.#head(phone), el("ol", { class: "bubbles", tabindex: "0", "aria-label": "Messages" }), this.#reply(phone));
    } else {
      this.#place.replaceChild(this.#head(phone), this.#place.firstElementChild);
    }
    this.#fill(phone);
  }

  #fill(phone) {
    const list = this.#place.querySelector(".bubbles");
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    const replies = this.#state.replies.get(phone.number) ?? [];
    const all = [...this.#state.visibleMessages(phone), ...replies];
    all.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    const shown = all.slice(-this.#limit);
    const rows = shown.map((one) => (one.reply ? fromPhone(one) : this.#bubble(one)));
    if (all.length > shown.length) {
      const more = el("button", { type: "button", text: `Show ${Math.min(AT_ONCE, all.length - shown.length)} earlier of ${all.length}` });
      more.addEventListener("click", () => {
        this.#limit += AT_ONCE;
        this.#fill(phone);
      });
      rows.unshift(el("li", {}, more));
    }
    list.replaceChildren(...rows);
    if (atEnd) list.scrollTop = list.scrollHeight;
  }

  #head(phone) {
    const count = phone.messages.length;
    return el(
      "div",
      { class: "thread-head" },
      el("button", { type: "button", class: "back small", text: "‹ Phones", onclick: this.#back }),
      el("h2", { dir: "ltr", text: phone.number }),
      el("span", { class: "quiet", text: count === 1 ? "1 message" : `${count} messages` }),
    );
  }

  #bubble(message) {
    const { segments } = message;
    const size = `${segments.count} ${segments.count === 1 ? "segment" : "segments"} · ${segments.encoding} · ${segments.units}`;
    const open = el("button", { type: "button", class: "small", text: "Details" });
    open.addEventListener("click", () => this.#open(message.id));
    return el(
      "li",
      { class: `bubble${message.double ? " double" : message.again ? " again" : ""}`, "data-id": message.id },
      words(message),
      el(
        "div",
        { class: "under" },
        message.double ? el("span", { class: "wrong", text: "Same key, delivered more than once" }) : null,
        message.again && !message.double ? el("span", { class: "odd", text: "Same words again, under another key" }) : null,
        el("time", { datetime: message.at, text: clockTime(message.at) }),
        el("span", { text: size, title: "As a provider bills it" }),
        message.tag ? el("span", { class: "tag", text: message.tag }) : null,
        message.code ? copyButton(message.code, `Copy ${message.code}`) : null,
        open,
      ),
    );
  }

  #reply(phone) {
    const input = el("input", { type: "text", "aria-label": `Reply as ${phone.number}`, placeholder: "Reply as the phone", maxlength: "1600", autocomplete: "off" });
    const send = async (body) => {
      if (!body) return;
      try {
        const heard = await ask("POST", "/admin/inbound", { from: phone.number, body });
        const replies = this.#state.replies.get(phone.number) ?? [];
        replies.push({ reply: true, body, at: new Date().toISOString(), keyword: heard.keyword });
        this.#state.replies.set(phone.number, replies);
        input.value = "";
        say("Reply sent");
        this.#fill(phone);
      } catch (error) {
        say(`Not sent: ${error.message}`);
      }
    };
    const form = el(
      "form",
      { class: "reply" },
      input,
      el("button", { type: "submit", class: "primary", text: "Send" }),
      el("button", { type: "button", text: "STOP", onclick: () => send("STOP") }),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(input.value.trim());
    });
    return form;
  }

  #welcome() {
    const command = el("pre", { tabindex: "0", "aria-label": "A command", text: this.#curl });
    return el(
      "div",
      { class: "empty welcome" },
      el("h2", { text: "No message yet" }),
      el("p", { text: "This is where the phones are. Point your client at this provider, or send the first message from a terminal:" }),
      command,
      el("div", { class: "row" }, copyButton(this.#curl, "Copy the command")),
      el("p", { class: "quiet", text: "It shows up here by itself. Send the same command twice: one key, one buzz." }),
    );
  }

  #unchosen() {
    return el(
      "div",
      { class: "empty unchosen" },
      el("h2", { text: "Choose a phone" }),
      el("p", { class: "quiet" }, el("kbd", { text: "↑" }), " ", el("kbd", { text: "↓" }), " phones · ", el("kbd", { text: "/" }), " search · ", el("kbd", { text: "f" }), " faults · ", el("kbd", { text: "Esc" }), " back"),
    );
  }
}

/** The words of a message, its code marked. */
function words(message) {
  const text = message.body ?? "";
  const at = message.code ? text.indexOf(message.code) : -1;
  if (at < 0) return el("p", { class: "text", dir: "auto", text });
  return el(
    "p",
    { class: "text", dir: "auto" },
    text.slice(0, at),
    el("span", { class: "code", text: message.code }),
    text.slice(at + message.code.length),
  );
}

function fromPhone(reply) {
  const said = {
    stop: "opted out: the next message to this phone is refused",
    start: "opted in again",
    help: "asked for help",
  }[reply.keyword];
  return el(
    "li",
    { class: "bubble from-phone" },
    el("p", { class: "text", dir: "auto", text: reply.body }),
    el("div", { class: "under" }, el("time", { datetime: reply.at, text: clockTime(reply.at) }), said ? el("span", { text: said }) : null),
  );
}
