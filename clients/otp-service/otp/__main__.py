"""python3 -m otp migrate | serve"""

import errno
import logging
import signal
import sqlite3
import sys
import threading

from .config import Config
from .consumer import Consumers
from .front_door import FrontDoor
from .publisher import publish
from .queue import Queue
from .store import Store

log = logging.getLogger("otp")


def migrate(config: Config) -> None:
    for part in (Store(config.directory), Queue(config.directory)):
        part.migrate()
        part.close()


def open_door(config: Config, stop: threading.Event) -> None:
    """Serves as soon as the port is to be had."""
    while not stop.is_set():
        try:
            door = FrontDoor(config)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            stop.wait(0.05)
            continue
        threading.Thread(target=door.serve_forever, daemon=True).start()
        stop.wait()
        door.shutdown()


def serve(config: Config) -> None:
    """Works until told to stop; what has begun by then is brought to its end."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=open_door, args=(config, stop), daemon=True).start()
    store, queue = Store(config.directory), Queue(config.directory)
    consumers = Consumers(config)
    while not stop.wait(config.poll):
        try:
            store.apply_events()  # those that a crash left between being kept and taking effect
            publish(store, queue, config)
            if free := consumers.free():
                consumers.consume(queue.take(free, config.lease), queue)
        except sqlite3.OperationalError as error:
            log.warning("the database cannot be used: %s", error)
    consumers.finish()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    match sys.argv[1:]:
        case ["migrate"]:
            migrate(Config.from_env())
        case ["serve"]:
            serve(Config.from_env())
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


sys.exit(main())
