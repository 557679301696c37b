create table if not exists sms_outbox (
    id               uuid primary key default gen_random_uuid(),
    customer         text not null,
    intent           text not null,
    -- The idempotency key: chosen with the row, before any request.
    key              text not null,
    -- The request's bytes, not its parts: every attempt sends the same ones.
    payload          bytea not null,
    expires_at       timestamptz,
    status           text not null default 'pending'
        check (status in ('pending', 'in_progress', 'sent', 'unknown', 'dead')),
    attempts         integer not null default 0,
    first_attempt_at timestamptz,
    next_attempt_at  timestamptz not null default clock_timestamp(),
    -- Some attempt may have been accepted. Never goes back to false.
    maybe_accepted   boolean not null default false,
    lease_until      timestamptz,
    -- Which claim this is. An older one can write nothing any more.
    fence            bigint not null default 0,
    provider_id      text,
    reason           text,
    unique (customer, intent),
    unique (customer, key)
);
create index if not exists sms_outbox_due on sms_outbox (next_attempt_at)
    where status in ('pending', 'in_progress');
