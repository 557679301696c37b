"""The switch: which one defect this process has.

Owns the list of defects, each with the bug kind that it is. Where a defect bites stands in the
code, as `if defect("id")`.
"""

import os

# What can be given to --defect, and what is then wrong. The name before a colon is the bug kind;
# what follows it tells two forms of one kind apart.
DEFECTS = {
    "no-key": "No request bears a key.",
    "key-per-attempt": "Each try bears a key of its own.",
    "key-dropped": "Only the first try bears the key.",
    "key-lost-on-redirect": "The hop of a redirect bears no key.",
    "caller-key-overwritten": "The key is the row's id, whatever the caller says.",
    "volatile-key": "The key bears the seconds since the first try.",
    "key-reused": "The key is made from the recipient.",
    "key-shared-by-customers": "The first customer's credential is used for all.",
    "key-mangled": "The key is cut to 64 characters and put in lower case.",
    "key-mangled:own-key": "The key is made from the first characters of the intent's id.",
    "payload-changed": "The body bears the number of the try.",
    "payload-reserialised": "A retry writes the JSON anew, its fields in another order.",
    "key-outlived": "The time for which the provider keeps the key is not looked at.",
    "new-key-on-stored-error": "A 500 that is answered from memory is escaped by a new key.",
    "in-flight-mishandled": "A 409 is taken for a failure.",
    "in-flight-mishandled:new-key": "A 409 is escaped by a new key.",
    "resend-reused-connection": "When a kept-alive connection breaks, the transport sends again, without the key.",
    "resend-fresh-connection": "When any connection breaks, the transport sends again, without the key.",
    "ambiguous-as-failed": "A lost answer is taken for a failure.",
    "ambiguous-as-failed:new-key": "A lost answer is followed by a new key.",
    "retried-accepted-500": "The retry of a 500, 502 or 504 bears no key.",
    "bad-success-retried": "A 2xx with a broken body is followed by a new key.",
    "broken-success-trusted": "A 2xx is a success, whatever its body.",
    "permanent-retried": "Every error is retried.",
    "retryable-given-up": "No error is retried.",
    "retry-after-ignored": "Retry-After is not looked at.",
    "retry-after-misread": "A Retry-After that is a date counts as 0 seconds.",
    "no-jitter": "Every wait is exactly the limit of the backoff.",
    "no-backoff": "Every wait is half the base of the backoff.",
    "no-backoff:unbounded": "The tries do not end at the maximum.",
    "layered-retries": "A second layer makes up to three requests of one try.",
    "crash-mints-key": "The key is stored with the result of the first try, not before it.",
    "lease-too-short": "An answer is waited for longer than a claim lasts.",
    "sweeper-too-eager": "When the lease is over, the process takes back what it is itself working on.",
    "no-claim-lock": "Rows are read first and marked as claimed later.",
    "sent-then-rolled-back": "The first try is made inside the transaction that stores the message.",
    "sent-after-deadline": "The expiry is not looked at.",
    "lost": "What a dead process had claimed is taken for sent.",
    "receipt-mishandled": "A receipt that comes again, or too late, is answered by sending again.",
    "failover-duplicates": "After a lost answer the other provider is asked.",
    "swallowed": "A second message to one number is taken for a repetition of the first.",
    "stuck": "What a dead process had claimed stays claimed.",
    "front-door-duplicates": "Nothing keeps one intent from being stored twice.",
    "front-door-conflict-hidden": "A known intent with other words is answered as a success.",
}

_chosen = os.environ.get("DEFECT", "")


def choose(name):
    """Makes `name` the defect of this process; an empty one: none."""
    global _chosen
    if name and name not in DEFECTS:
        raise SystemExit(f"there is no defect `{name}`; there are:\n  " + "\n  ".join(DEFECTS))
    _chosen = name


def chosen():
    return _chosen


def defect(*names):
    """Whether this process has one of these defects."""
    return _chosen in names
