//! The kinds of defect that the harness tells apart.
//!
//! Owns [`BugKind`]: its ids, its severities, and the words in which a report explains it. Which
//! kind explains what was seen is the diagnosis'.

use std::{
    fmt::{self, Write as _},
    str::FromStr,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{checks, severity::Severity};

macro_rules! bug_kinds {
    ($($variant:ident $id:literal $severity:ident $wrong:literal $remedy:literal;)+) => {
        /// What is wrong with a client. The last four name a symptom that no kind explains.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        pub enum BugKind {
            $(#[doc = $wrong] #[serde(rename = $id)] $variant,)+
        }

        impl BugKind {
            /// Every kind, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The id by which files and reports name it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $id),+ }
            }

            /// How grave it is, unless the evidence shows it to be harmless.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity),+ }
            }

            /// What is wrong, in one plain sentence.
            #[must_use]
            pub fn wrong(self) -> &'static str {
                match self { $(Self::$variant => $wrong),+ }
            }

            /// What to do about it, in one plain sentence.
            #[must_use]
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy),+ }
            }
        }
    };
}

bug_kinds! {
    NoKey "no-key" Duplicate
        "The client retries without any idempotency key."
        "Send one key per message, chosen before the first request, with every request for it.";
    KeyPerAttempt "key-per-attempt" Duplicate
        "The client makes a new idempotency key for each try."
        "Choose the key once per message, store it before the first request, and send it each time.";
    KeyDropped "key-dropped" Duplicate
        "The client loses the idempotency key on a retry or in a batch."
        "Build every request for a message from the stored key, the retries and the batch included.";
    KeyLostOnRedirect "key-lost-on-redirect" Duplicate
        "The client drops the idempotency key when it follows a redirect."
        "Follow a 307 or 308 with the same headers, or do not follow redirects at all.";
    CallerKeyOverwritten "caller-key-overwritten" Duplicate
        "The client replaces the key that its caller gave it."
        "Pass the caller's key through unchanged; make one up only where there is none.";
    VolatileKey "volatile-key" Duplicate
        "The idempotency key depends on the time, so a late retry bears another."
        "Derive the key from the message's own identity, never from a clock, or store it.";
    KeyReused "key-reused" Loss
        "Two different messages bear one idempotency key, so the second is swallowed."
        "Give each message a key of its own: its row's id, not its recipient or its content.";
    KeySharedByCustomers "key-shared-by-customers" Loss
        "One customer's message goes out under another customer's credential and key."
        "Keep keys and credentials by customer: the pair names a message, not the key alone.";
    KeyMangled "key-mangled" Loss
        "The client shortens the key or changes its case, so that different keys collide."
        "Send the key exactly as it is; hash it where it is too long, and keep its case.";
    PayloadChanged "payload-changed" WrongOutcome
        "The content differs between two requests under one key."
        "Store the request beside its key and send the same content every time.";
    PayloadReserialised "payload-reserialised" WrongOutcome
        "The same JSON goes out in other bytes under one key, which a strict provider refuses."
        "Store the serialised bytes beside the key and send those bytes every time.";
    KeyOutlived "key-outlived" Duplicate
        "The client retries under a key that the provider has forgotten by then."
        "Stop retrying before the key's retention ends; then ask the provider, or set it aside.";
    NewKeyOnStoredError "new-key-on-stored-error" Duplicate
        "The client escapes a stored server error by taking a new key."
        "A 5xx does not say that nothing was sent: keep the key, ask the provider, or set it aside.";
    InFlightMishandled "in-flight-mishandled" Duplicate
        "The client takes a 409 for a request still in flight as final, or escapes it by a new key."
        "Wait and ask again under the same key: the first request is still being worked on.";
    ResendReusedConnection "resend-reused-connection" Duplicate
        "Something below the client's own count resends a request when a kept-alive connection breaks."
        "Look at the HTTP call, not at the schedule: turn the library's own retry off, or give it the key.";
    ResendFreshConnection "resend-fresh-connection" Duplicate
        "Something below the client's own count resends a request, even on a new connection."
        "Look at the HTTP call, not at the schedule: turn the library's own retry off, or give it the key.";
    AmbiguousAsFailed "ambiguous-as-failed" WrongOutcome
        "The client takes a lost answer for a failure, though the message was accepted."
        "After a timeout or a broken connection nobody knows: retry under the same key, or say `unknown`.";
    RetriedAcceptedFiveHundred "retried-accepted-500" Duplicate
        "The client retries without a key after a server error that came after acceptance."
        "A 5xx does not say that nothing was sent: retry only under the same key.";
    BadSuccessRetried "bad-success-retried" Duplicate
        "The client sends a new message because the answer to an accepted one was broken."
        "A 2xx with an unreadable body means accepted: ask again under the same key.";
    BrokenSuccessTrusted "broken-success-trusted" Loss
        "The client takes an answer that is broken, or no success at all, for success: nothing was sent."
        "Look at the status first; believe a 2xx only when the whole answer was read and makes sense.";
    PermanentRetried "permanent-retried" Policy
        "The client retries an answer that will never change."
        "Do not retry 400, 401, 403, 404, 422 or a permanent provider code: set the message aside.";
    RetryableGivenUp "retryable-given-up" Loss
        "The client gives up on a passing error while it has attempts left."
        "Retry 408, 425, 429, 5xx and broken connections under the same key, up to the limit.";
    RetryAfterIgnored "retry-after-ignored" Policy
        "The client comes back before the time that the provider asked for."
        "Wait at least as long as Retry-After says; it wins over the client's own backoff.";
    RetryAfterMisread "retry-after-misread" Policy
        "The client misreads a Retry-After that is not a plain number of seconds."
        "Read HTTP-dates; treat past, negative and unreadable values as absent, and cap huge ones.";
    NoJitter "no-jitter" Policy
        "All retries come back at once: the waits are not spread."
        "Draw each wait at random between zero and the backoff's limit (full jitter).";
    NoBackoff "no-backoff" Policy
        "The waits between retries do not grow, or the retries do not end."
        "Double the limit of the wait at each try up to a cap, and stop at a maximum.";
    LayeredRetries "layered-retries" Policy
        "Two layers retry, one inside the other, and their numbers multiply."
        "Retry in one layer only: turn off the HTTP library's or the SDK's own retries.";
    CrashMintsKey "crash-mints-key" Duplicate
        "After a restart the client sends the same message under a new key."
        "Store the key with the message before the first request, and read it back after a restart.";
    LeaseTooShort "lease-too-short" Duplicate
        "A second worker takes a message that the first is still working on."
        "Make the lease longer than the longest request, renew it, or fence with a token.";
    SweeperTooEager "sweeper-too-eager" Duplicate
        "The sweeper takes back a message that is still being worked on."
        "Reclaim only what is older than the longest request can last.";
    NoClaimLock "no-claim-lock" Duplicate
        "Two workers take the same message, with nothing wrong around them."
        "Claim in one statement (FOR UPDATE SKIP LOCKED, or an update of what is still pending), then send.";
    SentThenRolledBack "sent-then-rolled-back" WrongOutcome
        "The message was sent, and the client's record of it is gone."
        "Commit the message and its key before the request; never send inside the transaction.";
    SentAfterDeadline "sent-after-deadline" WrongOutcome
        "The client sends a message after its expiry."
        "Check the expiry before each request, and set the message aside once it has passed.";
    Lost "lost" Loss
        "A message that the client had taken on was never sent and never set aside."
        "Store the message durably before saying yes, and recover unfinished ones at the start.";
    ReceiptMishandled "receipt-mishandled" Duplicate
        "A duplicate, early or forged receipt makes the client resend or change its mind."
        "Verify receipts, remember their event ids, and let a state move only forward.";
    FailoverDuplicates "failover-duplicates" Duplicate
        "The client asks a second provider while the first may have accepted the message."
        "Fail over only where no request can have arrived; after a lost answer ask the first provider again.";
    Swallowed "swallowed" Loss
        "Two real messages are taken for duplicates of one, and one is never sent."
        "Tell messages apart by an identity of their own, not by recipient or content.";
    Stuck "stuck" Loss
        "A message stays in progress for ever."
        "Give claims a lease, and take back what a dead process has left behind.";
    FrontDoorDuplicates "front-door-duplicates" Duplicate
        "The same message submitted twice is sent twice."
        "Make the caller's id unique in the database, and answer a repeat with the first result.";
    FrontDoorConflictHidden "front-door-conflict-hidden" WrongOutcome
        "A submission with a known id but other content is answered as a success."
        "Compare the content with what is stored under the id, and refuse a difference.";
    DuplicateDelivery "duplicate-delivery" Duplicate
        "A message was delivered more often than it should have been, and no known kind explains it."
        "Follow the two deliveries in the diagram back to the requests that made them.";
    LostMessage "lost-message" Loss
        "A message was not delivered, and no known kind explains it."
        "Follow the message in the diagram to the last point at which the client had it.";
    UnexpectedOutcome "unexpected-outcome" WrongOutcome
        "The client's outcome is not one that the scenario allows, and no known kind explains it."
        "Compare what the client believes with what was delivered.";
    StrayAttempt "stray-attempt" WrongOutcome
        "The client sent something that nobody asked for."
        "Look at the request: its recipient belongs to no message that was submitted.";
}

impl BugKind {
    /// Whether it is a matter of when the client did something, so that a machine without time for
    /// the client can look like it.
    #[must_use]
    pub fn rests_on_time(self) -> bool {
        matches!(
            self,
            Self::KeyOutlived
                | Self::PermanentRetried
                | Self::RetryableGivenUp
                | Self::RetryAfterIgnored
                | Self::RetryAfterMisread
                | Self::NoJitter
                | Self::NoBackoff
                | Self::LayeredRetries
                | Self::LeaseTooShort
                | Self::SweeperTooEager
                | Self::NoClaimLock
                | Self::SentAfterDeadline
                | Self::Stuck
                | Self::LostMessage
                | Self::UnexpectedOutcome
        )
    }

    /// Whether it names a symptom that no kind explains.
    #[must_use]
    pub fn is_symptom(self) -> bool {
        matches!(
            self,
            Self::DuplicateDelivery
                | Self::LostMessage
                | Self::UnexpectedOutcome
                | Self::StrayAttempt
        )
    }
}

/// The reference of every kind, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(
        "# Bug kinds\n\n\
         What a finding, a JUnit failure and an entry of `[known]` are named by. A check sees a symptom in one\n\
         scenario; the diagnosis names the kind over all scenarios of a run: a narrower kind only where its\n\
         trigger is present and the same scenario without the trigger is clean. The last four name a symptom\n\
         that no kind explains.\n\n\
         Severities, from the gravest: `duplicate`, `loss`, `wrong-outcome`, `policy`, `note`. What is harmless in\n\
         the run at hand (a second request under a stable key) is a `note`, whatever its kind.\n\n\
         | kind | severity | what is wrong | what to do |\n|---|---|---|---|\n",
    );
    for kind in BugKind::ALL {
        let (severity, wrong, remedy) = (kind.severity(), kind.wrong(), kind.remedy());
        // Writing to a String cannot fail.
        let _written = writeln!(text, "| `{kind}` | {severity} | {wrong} | {remedy} |");
    }
    text.push('\n');
    text.push_str(&checks::timing_reference());
    text
}

impl fmt::Display for BugKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for BugKind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|k| k.as_str() == word)
            .ok_or_else(|| format!("`{word}` is not a bug kind"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_forty_kinds_and_four_symptoms_each_with_its_own_id_and_words() {
        assert_eq!(BugKind::ALL.iter().filter(|k| !k.is_symptom()).count(), 40);
        assert_eq!(BugKind::ALL.iter().filter(|k| k.is_symptom()).count(), 4);
        for kind in BugKind::ALL {
            assert_eq!(kind.as_str().parse::<BugKind>(), Ok(*kind));
            let json = serde_json::to_string(kind).expect("a kind is a word");
            assert_eq!(json, format!("\"{kind}\""));
            assert!(kind.wrong().ends_with('.') && kind.remedy().ends_with('.'));
            assert!(
                kind.as_str()
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
        }
    }

    #[test]
    fn no_kind_is_a_mere_note_by_itself() {
        assert!(BugKind::ALL.iter().all(|k| k.severity() > Severity::Note));
    }
}
