// Uses every call of the npm package toxiproxy-node-client on a running proxy.
// node node.mjs API-URL [API-URL-ON-8474, for the package's own test helper]

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import client from "toxiproxy-node-client";

const { Toxiproxy, Proxy, Toxic, ToxiproxyError } = client;
const [, , url, fixedUrl] = process.argv;
let checks = 0;
const check = (condition, what) => {
  assert.ok(condition, what);
  checks += 1;
};
const same = (actual, expected, what) => {
  assert.deepEqual(actual, expected, what);
  checks += 1;
};
const refused = async (promise, status) => {
  await assert.rejects(promise, (error) => error instanceof ToxiproxyError && error.message.includes(String(status)));
  checks += 1;
};

// An upstream that answers each chunk with the same chunk.
const upstream = net.createServer((socket) => {
  socket.on("error", () => {});
  socket.pipe(socket);
});
upstream.listen(0, "127.0.0.1");
await once(upstream, "listening");
const behind = `127.0.0.1:${upstream.address().port}`;

// Sends `text` through a proxy; tells what came back, how it ended, and when.
const exchange = (proxy, text) =>
  new Promise((resolve) => {
    const port = Number(proxy.listen.split(":").pop());
    const started = performance.now();
    let got = "";
    const done = (end) => resolve({ got, end, ms: performance.now() - started });
    const socket = net.connect(port, "127.0.0.1", () => socket.write(text));
    socket.on("data", (data) => {
      got += data;
      if (got.length >= text.length) {
        socket.destroy();
        done("answered");
      }
    });
    socket.on("end", () => done("fin"));
    socket.on("error", (error) => done(error.code));
  });

const toxiproxy = new Toxiproxy(url);
same(toxiproxy.getApi(), toxiproxy.api, "getApi");
check(/"version": "2\./.test(await toxiproxy.getVersion()), "getVersion");

// createProxy, get, getAll, populate
const made = await toxiproxy.createProxy({ name: "made", listen: "localhost:0", upstream: behind });
check(made instanceof Proxy && made.enabled, "createProxy");
check(/^127\.0\.0\.1:[1-9]/.test(made.listen), "port 0 is resolved");
same(made.toJson(), { name: "made", listen: made.listen, upstream: behind, enabled: true }, "Proxy.toJson");
same(made.getToxiproxy(), toxiproxy, "getToxiproxy");
same(made.getHost(), url, "getHost");
same(made.getPath(), `${url}/proxies/made`, "Proxy.getPath");
await refused(toxiproxy.createProxy({ name: "made", listen: "localhost:0", upstream: behind }), 409);
await refused(toxiproxy.createProxy({ name: "", listen: "", upstream: "" }), 400);
same((await toxiproxy.get("made")).toJson(), made.toJson(), "get");
await refused(toxiproxy.get("nobody"), 404);
const populated = await toxiproxy.populate([
  { name: "one", listen: "localhost:0", upstream: behind },
  { name: "two", listen: "localhost:0", upstream: behind, enabled: false },
]);
same(Object.keys(populated), ["one", "two"], "populate");
same([populated.one.enabled, populated.two.enabled], [true, false], "populate honours enabled");
same(Object.keys(await toxiproxy.getAll()).sort(), ["made", "one", "two"], "getAll");

// update: disable, enable
same(await exchange(made, "hello").then((r) => r.got), "hello", "data passes");
const address = { listen: made.listen, upstream: made.upstream };
same((await made.update({ ...address, enabled: false })).enabled, false, "update disables");
same((await exchange(made, "hello")).end, "ECONNREFUSED", "a disabled proxy refuses");
same((await made.update({ ...address, enabled: true })).enabled, true, "update enables");
same((await exchange(made, "hello")).got, "hello", "an enabled proxy passes data");

// addToxic, getToxic, update and remove, for every type that the package knows
const settings = {
  latency: { latency: 150, jitter: 0 },
  bandwidth: { rate: 100 },
  slow_close: { delay: 10 },
  timeout: { timeout: 50 },
  slicer: { average_size: 2, size_variation: 1, delay: 10 },
  limit_data: { bytes: 3 },
  reset_peer: { timeout: 0 },
};
const effects = {
  latency: (r) => r.got === "hello" && r.ms >= 150,
  bandwidth: (r) => r.got === "hello",
  slow_close: (r) => r.got === "hello",
  timeout: (r) => r.got === "" && r.end === "fin",
  slicer: (r) => r.got === "hello",
  // Upstream, the close may overtake the answer to what got through.
  limit_data: (r, stream) => (r.got === "hel" || (stream === "upstream" && r.got === "")) && r.end === "fin",
  reset_peer: (r) => r.got === "" && r.end === "ECONNRESET",
};
for (const [type, attributes] of Object.entries(settings)) {
  for (const stream of ["downstream", "upstream"]) {
    const body = { name: `${type}-${stream}`, type, stream, toxicity: 1, attributes };
    const toxic = await made.addToxic(body);
    check(toxic instanceof Toxic, "addToxic");
    same(toxic.toJson(), body, "Toxic.toJson");
    same(toxic.getPath(), `${made.getPath()}/toxics/${body.name}`, "Toxic.getPath");
    same((await made.getToxic(body.name)).toJson(), body, "getToxic");
    await refused(made.addToxic(body), 409);
    const result = await exchange(made, "hello");
    check(effects[type](result, stream), `${type} ${stream}: ${JSON.stringify(result)}`);
    const changed = await toxic.update({ ...body, toxicity: 0 });
    same(changed.toJson(), { ...body, toxicity: 0 }, "Toxic.update");
    same((await exchange(made, "hello")).got, "hello", `${type} with toxicity 0 leaves data alone`);
    await toxic.remove();
    await refused(made.getToxic(body.name), 404);
  }
}
const plain = await made.addToxic({ type: "latency", attributes: { latency: 1 } });
same([plain.name, plain.stream, plain.toxicity], ["latency_downstream", "downstream", 1], "defaults");
await refused(made.addToxic({ type: "down", attributes: {} }), 400);
await refused(made.addToxic({ name: "x", type: "latency", attributes: { latency: "soon" } }), 400);
await refused(plain.update({ attributes: { latency: -1 } }), 400);

// reset, remove
await toxiproxy.reset();
await refused(made.getToxic("latency_downstream"), 404);
same((await toxiproxy.get("two")).enabled, true, "reset enables");
for (const proxy of Object.values(await toxiproxy.getAll())) await proxy.remove();
same(await toxiproxy.getAll(), {}, "remove");
await refused(made.remove(), 404);

// The transport and the package's own test helper, which knows one port.
same((await toxiproxy.api.get(`${url}/proxies`)).data, {}, "HttpClient.get");
same((await toxiproxy.api.post(`${url}/reset`)).data, undefined, "HttpClient.post");
await refused(toxiproxy.api.delete(`${url}/proxies/nobody`), 404);
check((await toxiproxy.api.getText(`${url}/version`)).endsWith("\n"), "HttpClient.getText");
if (fixedUrl) {
  const { default: helper } = await import("toxiproxy-node-client/dist/TestHelper.js");
  same(new URL(helper.toxiproxyUrl).port, new URL(fixedUrl).port, "TestHelper.toxiproxyUrl");
  const { proxy, toxiproxy: fixed } = await helper.createProxy("helped");
  const toxic = await helper.createToxic(proxy, "latency", { latency: 5, jitter: 0 });
  same(toxic.attributes, { latency: 5, jitter: 0 }, "TestHelper.createToxic");
  await helper.removeAllProxies();
  same(await fixed.getAll(), {}, "TestHelper.removeAllProxies");
}

upstream.close();
console.log(`toxiproxy-node-client: every call of Toxiproxy, Proxy, Toxic, HttpClient and TestHelper, ${checks} checks passed`);
process.exit(0);
