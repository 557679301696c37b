"""An OTP service: `POST /api/otp/send`, and everything behind it that sends each SMS once.

    front_door   the HTTP server: requests of our customers, the provider's webhooks
    store        the service's tables: requests, outbox, webhook events
    queue        a broker that delivers at least once (here a file of its own)
    publisher    from the outbox to the queue, perhaps twice
    consumer     one message of the queue: one attempt at most, whoever has had it before
    provider     one request to the SMS provider
    policy       what an answer means and what follows from it

Only the standard library is used.
"""
