"""A transactional outbox on PostgreSQL that sends each SMS exactly once.

`store` owns the table, `provider` one request, `policy` what an answer means and what is done
about it, `worker` the loop. An application calls `store.enqueue` in its own transaction.
"""
