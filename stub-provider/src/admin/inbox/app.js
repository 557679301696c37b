// The page as a whole: what comes in, what is drawn when, and the keys.

import { ask, byId, say } from "./dom.js";
import { Faults } from "./faults.js";
import { Message } from "./message.js";
import { Phones } from "./phones.js";
import { State } from "./state.js";
import { Thread } from "./thread.js";

const state = new State();
const phones = new Phones(state, choose);
const thread = new Thread(state, (id) => message.open(id), back);
const message = new Message(state, back);
const faults = new Faults(state);
const opened = () => !byId("message").hidden;

/** Drawing waits for the next frame, however much comes in until then. */
let due = false;
function draw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    phones.draw();
    thread.draw();
    faults.draw();
    notices();
  });
}

function notices() {
  const { total, doubles } = state;
  const phonesInAll = state.phones.size;
  byId("totals").textContent = total === 0 ? "" : `${total} ${total === 1 ? "message" : "messages"}, ${phonesInAll} ${phonesInAll === 1 ? "phone" : "phones"}`;
  byId("offline").hidden = state.online;
  const notice = byId("doubles");
  notice.hidden = doubles.size === 0;
  const words = `${doubles.size === 1 ? "1 key was" : `${doubles.size} keys were`} delivered more than once: somebody's phone buzzed twice for one message.`;
  if (notice.textContent !== words) notice.textContent = words;
  document.title = `${doubles.size > 0 ? "‼ " : ""}Inbox${total > 0 ? ` (${total})` : ""} · stub-provider`;
}

function choose(number) {
  state.chosen = number;
  document.body.classList.add("in-thread");
  draw();
}

/** One step back: from a message to its phone, from there to the phones. */
function back() {
  if (opened()) {
    message.close();
    return;
  }
  document.body.classList.remove("in-thread");
  state.chosen = null;
  phones.focus();
  draw();
}

function listen() {
  const stream = new EventSource("/admin/inbox");
  const on = (what, act) => stream.addEventListener(what, (event) => {
    act(JSON.parse(event.data));
    draw();
  });
  on("cleared", () => {
    state.clear();
    if (opened()) message.close();
  });
  on("provider", (provider) => {
    byId("provider").textContent = provider.name;
    byId("provider").title = provider.title;
    thread.curl = provider.curl;
  });
  on("messages", (messages) => state.add(messages));
  on("faults", (list) => { state.faults = list; });
  stream.onopen = () => { state.online = true; draw(); };
  stream.onerror = () => { state.online = false; draw(); };
}

byId("search").addEventListener("input", (event) => {
  state.search(event.target.value);
  draw();
});

byId("export").addEventListener("click", () => {
  const plain = state.visible().map(({ double, again, ...rest }) => rest);
  const file = new Blob([JSON.stringify(plain, null, 2)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = "messages.json";
  link.click();
  URL.revokeObjectURL(link.href);
  say(`${plain.length} messages exported`);
});

const clearing = byId("clear-all");
byId("clear").addEventListener("click", () => clearing.showModal());
byId("clear-no").addEventListener("click", () => clearing.close());
byId("clear-yes").addEventListener("click", async () => {
  clearing.close();
  await ask("POST", "/admin/reset").catch((error) => say(error.message));
});

document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("input, textarea, dialog");
  if (event.key === "Escape" && !event.target.closest("dialog")) {
    if (writing) event.target.blur();
    else back();
    return;
  }
  if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = {
    "/": () => byId("search").focus(),
    f: () => faults.open(),
    j: () => phones.move(1),
    k: () => phones.move(-1),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

draw();
listen();
