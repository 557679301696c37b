#!/usr/bin/env python3
"""A decent SMS client with one defect, which `--defect` (or `DEFECT`) chooses.

    client.py [--defect ID] setup
    client.py [--defect ID] enqueue INTENT TO BODY CUSTOMER KEY EXPIRES_AT   empty: none
    client.py [--defect ID] work
    client.py defects                                                        lists them

Exit codes: 0 done, 2 usage, 65 the intent is there with other words, 75 nothing was stored.
"""

import sys

import defect


def main(arguments):
    if arguments[:1] == ["--defect"] and len(arguments) > 1:
        defect.choose(arguments[1])
        arguments = arguments[2:]
    else:
        defect.choose(defect.chosen())
    match arguments:
        case ["setup"]:
            import outbox

            outbox.setup()
        case ["enqueue", intent, to, body, customer, key, expires_at]:
            import outbox

            return outbox.enqueue(intent, to, body, customer, key, seconds(expires_at))
        case ["work"]:
            import worker

            worker.Worker().run()
        case ["defects"]:
            for name, what in defect.DEFECTS.items():
                print(f"{name:30} {what}")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def seconds(timestamp):
    """Seconds since 1970 of an RFC 3339 time; `None` of an empty one."""
    if not timestamp:
        return None
    from datetime import datetime

    return datetime.fromisoformat(timestamp).timestamp()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
