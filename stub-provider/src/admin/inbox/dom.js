// Making elements. Text is only ever set as text: whatever a message holds, it stays words.

/** An element with properties (`class`, `text`, `on…`, attributes) and children. */
export function el(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") made.textContent = value;
    else if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

/** The time of a timestamp, to the second; with the day where that is not today (the provider's clock can be advanced). */
export function clockTime(timestamp) {
  const at = new Date(timestamp);
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const day = at.toDateString() === new Date().toDateString() ? {} : { month: "short", day: "numeric" };
  return at.toLocaleString([], { ...day, ...time });
}

/** Tells whoever cannot see what has changed. */
export function say(words) {
  byId("said").textContent = words;
}

/** A button that copies a text and says that it did. */
export function copyButton(text, label) {
  const button = el("button", { type: "button", class: "small", text: label });
  button.addEventListener("click", async (event) => {
    event.stopPropagation();
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      say(`Copied ${text}`);
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

/** Asks the provider; the answer as JSON. What went wrong becomes the error's message. */
export async function ask(method, path, body) {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.message ?? `the provider answered ${answer.status}`);
  return said;
}
