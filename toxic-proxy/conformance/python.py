"""Uses every call of the PyPI package toxiproxy-python on a running proxy.

python python.py HOST PORT
"""

import socket
import socketserver
import sys
import threading
import time

from toxiproxy import Proxy, Toxiproxy
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists
from toxiproxy.toxic import Toxic
from toxiproxy.utils import can_connect_to

checks = 0


def check(condition, what):
    global checks
    assert condition, what
    checks += 1


def refused(error, call, *arguments, **settings):
    try:
        call(*arguments, **settings)
    except error:
        check(True, "refused")
        return
    raise AssertionError("%s was not raised" % error.__name__)


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            while data := self.request.recv(1024):
                self.request.sendall(data)
        except OSError:
            pass  # the proxy hung up, which some toxics are for


class Upstream(socketserver.ThreadingTCPServer):
    daemon_threads = True


upstream = Upstream(("127.0.0.1", 0), Echo)
threading.Thread(target=upstream.serve_forever, daemon=True).start()
behind = "127.0.0.1:%d" % upstream.server_address[1]


def exchange(proxy, text):
    """What comes back through the proxy, how it ends, and after how long."""
    host, port = proxy.listen.rsplit(":", 1)
    started, got = time.monotonic(), b""
    try:
        with socket.create_connection((host, int(port)), timeout=20) as link:
            link.sendall(text)
            while len(got) < len(text):
                data = link.recv(1024)
                if not data:
                    return got, "fin", time.monotonic() - started
                got += data
        return got, "answered", time.monotonic() - started
    except OSError as error:
        return got, type(error).__name__, time.monotonic() - started


host, port = sys.argv[1], int(sys.argv[2])
server = Toxiproxy()
server.update_api_consumer(host, port)
check((APIConsumer.host, APIConsumer.port) == (host, port), "update_api_consumer")
check(can_connect_to(host, port), "can_connect_to")
check(server.running() is True, "running")
check(b'"version": "2.' in server.version(), "version")
check(server.proxies() == {}, "proxies, none")

# create, get_proxy, populate
made = server.create(upstream=behind, name="made")
check(isinstance(made, Proxy) and made.enabled and made.upstream == behind, "create")
check(made.listen.startswith("127.0.0.1:") and not made.listen.endswith(":0"), "port 0 is resolved")
off = server.create(upstream=behind, name="off", listen="127.0.0.1:0", enabled=False)
check(off.enabled is False, "create, disabled")
refused(ProxyExists, server.create, upstream=behind, name="made")
refused(ProxyExists, APIConsumer.post, "/proxies", json={"name": "made", "upstream": behind})
check(server.get_proxy("made").listen == made.listen, "get_proxy")
check(server.get_proxy("nobody") is None, "get_proxy, none")
populated = server.populate(
    [
        {"name": "made", "upstream": behind, "listen": made.listen},
        {"name": "off", "upstream": "127.0.0.1:1", "listen": "127.0.0.1:0"},
        {"name": "new", "upstream": behind, "listen": "127.0.0.1:0"},
    ]
)
check([proxy.name for proxy in populated] == ["off", "new"], "populate makes what is absent or differs")
check(server.get_proxy("off").upstream == "127.0.0.1:1", "populate replaces")
check(sorted(server.proxies()) == ["made", "new", "off"], "proxies")

# disable, enable, down
check(exchange(made, b"hello")[0] == b"hello", "data passes")
made.disable()
check(made.enabled is False and not server.get_proxy("made").enabled, "disable")
check(exchange(made, b"hello")[1] == "ConnectionRefusedError", "a disabled proxy refuses")
made.enable()
check(made.enabled is True and server.get_proxy("made").enabled, "enable")
with made.down() as down:
    check(down is made and not server.get_proxy("made").enabled, "down")
check(exchange(made, b"hello")[0] == b"hello", "up again")

# add_toxic, toxics, get_toxic, destroy_toxic, for every type
settings = {
    "noop": ({}, lambda stream, got, end, took: got == b"hello"),
    "latency": ({"latency": 150, "jitter": 0}, lambda stream, got, end, took: got == b"hello" and took >= 0.15),
    "bandwidth": ({"rate": 100}, lambda stream, got, end, took: got == b"hello"),
    "slow_close": ({"delay": 10}, lambda stream, got, end, took: got == b"hello"),
    "timeout": ({"timeout": 50}, lambda stream, got, end, took: (got, end) == (b"", "fin")),
    "reset_peer": ({"timeout": 0}, lambda stream, got, end, took: (got, end) == (b"", "ConnectionResetError")),
    "slicer": (
        {"average_size": 2, "size_variation": 1, "delay": 10},
        lambda stream, got, end, took: got == b"hello",
    ),
    # Upstream, the close may overtake the answer to what got through.
    "limit_data": (
        {"bytes": 3},
        lambda stream, got, end, took: end == "fin" and (got == b"hel" or (stream, got) == ("upstream", b"")),
    ),
}
check(made.toxics() == {}, "toxics, none")
for type_name, (attributes, effect) in settings.items():
    for stream in ("downstream", "upstream"):
        name = "%s-%s" % (type_name, stream)
        toxic = {"type": type_name, "stream": stream, "name": name, "toxicity": 1, "attributes": attributes}
        made.add_toxic(**toxic)
        refused(ProxyExists, made.add_toxic, **toxic)
        check(list(made.toxics()) == [name], "toxics")
        found = made.get_toxic(name)
        check(isinstance(found, Toxic), "get_toxic")
        check(
            (found.type, found.stream, found.name, found.toxicity, found.attributes)
            == (type_name, stream, name, 1, attributes),
            "get_toxic reads back what was added",
        )
        result = exchange(made, b"hello")
        check(effect(stream, *result), "%s %s: %s" % (type_name, stream, result))
        check(made.destroy_toxic(name) is True, "destroy_toxic")
check(made.get_toxic("nope") is None, "get_toxic, none")
made.add_toxic(type="latency")
default = made.get_toxic("latency_downstream")
check((default.stream, default.toxicity, default.attributes["latency"]) == ("downstream", 1, 0), "defaults")
refused(InvalidToxic, made.add_toxic, type="down")
refused(InvalidToxic, made.add_toxic, type="latency", name="x", stream="sideways")
refused(InvalidToxic, made.add_toxic, type="latency", name="x", attributes={"latency": 1.5})
refused(NotFound, made.destroy_toxic, "nope")

# reset, destroy, destroy_all
made.disable()
check(server.reset() is True, "reset")
check(server.get_proxy("made").enabled and made.toxics() == {}, "reset enables and removes toxics")
check(server.destroy(made) is True and server.get_proxy("made") is None, "destroy")
check(server.destroy("not a proxy") is False, "destroy of something else")
refused(NotFound, made.destroy)
server.destroy_all()
check(server.proxies() == {}, "destroy_all")
check(APIConsumer.get("/version").status_code == 200, "APIConsumer.get")
refused(NotFound, APIConsumer.delete, "/proxies/nobody")

print("toxiproxy-python: every call of Toxiproxy, Proxy, Toxic and APIConsumer, %d checks passed" % checks)
