"""python -m outbox migrate | enqueue INTENT TO BODY [CUSTOMER] [KEY] [EXPIRES_AT] | work"""

import sys

import psycopg

from . import store


def main() -> int:
    match sys.argv[1:]:
        case ["migrate"]:
            store.migrate(store.database_url())
        case ["enqueue", intent, to, body, *rest] if len(rest) <= 3:
            customer, key, expires_at = [*rest, "", "", ""][:3]
            try:
                # The application's own rows would be written in this transaction too.
                with psycopg.connect(store.database_url()) as db:
                    store.enqueue(
                        db,
                        intent=intent,
                        to=to,
                        body=body,
                        customer=customer or "default",
                        key=key or None,
                        expires_at=expires_at or None,
                    )
            except store.Conflict as conflict:
                print(f"outbox: {conflict}", file=sys.stderr)
                return 65
            except psycopg.OperationalError as error:
                print(f"outbox: nothing stored: {error}", file=sys.stderr)
                return 75
        case ["work"]:
            import asyncio
            import logging

            from .config import Config
            from .worker import run

            logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
            logging.getLogger("httpx").setLevel(logging.WARNING)
            asyncio.run(run(store.database_url(), Config.from_env()))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


sys.exit(main())
