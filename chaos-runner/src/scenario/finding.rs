//! The ids that a scenario may expect as findings.

/// Every bug kind and every symptom that stands for itself.
const FINDINGS: [&str; 44] = [
    "no-key",
    "key-per-attempt",
    "key-dropped",
    "key-lost-on-redirect",
    "caller-key-overwritten",
    "volatile-key",
    "key-reused",
    "key-shared-by-customers",
    "key-mangled",
    "payload-changed",
    "payload-reserialised",
    "key-outlived",
    "new-key-on-stored-error",
    "in-flight-mishandled",
    "resend-reused-connection",
    "resend-fresh-connection",
    "ambiguous-as-failed",
    "retried-accepted-500",
    "bad-success-retried",
    "broken-success-trusted",
    "permanent-retried",
    "retryable-given-up",
    "retry-after-ignored",
    "retry-after-misread",
    "no-jitter",
    "no-backoff",
    "layered-retries",
    "crash-mints-key",
    "lease-too-short",
    "sweeper-too-eager",
    "no-claim-lock",
    "sent-then-rolled-back",
    "sent-after-deadline",
    "lost",
    "receipt-mishandled",
    "failover-duplicates",
    "swallowed",
    "stuck",
    "front-door-duplicates",
    "front-door-conflict-hidden",
    "duplicate-delivery",
    "lost-message",
    "unexpected-outcome",
    "stray-attempt",
];

/// Every id.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    FINDINGS.into_iter()
}

/// Whether a finding can have this id.
pub(crate) fn is_known(id: &str) -> bool {
    FINDINGS.contains(&id)
}
