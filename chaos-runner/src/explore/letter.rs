//! The letters: the faults that one attempt can meet.
//!
//! Owns [`Letter`] with its name, its place in the order and its reason to be. The fault that it
//! stands for is in [`super::action`], the sets of letters that a run is asked for are in
//! [`super::alphabet`]. The reference in `docs/explore.md` is written from here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which of the sets of letters one belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// What an exploration uses where it is not told otherwise: each stage and each kind of answer
    /// that has consequences of its own.
    Standard,
    /// The provider's remaining faults: other ways to the same consequences.
    More,
    /// The network, by toxics bound to the attempt's connection.
    Toxics,
    /// The client's process. Each script has a lab to itself.
    Processes,
}

macro_rules! letters {
    ($($variant:ident $name:literal $set:ident $does:literal $why:literal;)+) => {
        /// A fault that one attempt can meet. The order is that of the reference: of two scripts
        /// of one length, the one with the earlier letters is the smaller.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum Letter {
            $(#[doc = $does] #[serde(rename = $name)] $variant,)+
        }

        impl Letter {
            /// Every letter, in their order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Its set.
            #[must_use]
            pub fn set(self) -> Set {
                match self { $(Self::$variant => Set::$set),+ }
            }

            /// What happens to the attempt, as the predicate of "attempt k …".
            #[must_use]
            pub fn does(self) -> &'static str {
                match self { $(Self::$variant => $does),+ }
            }

            /// Why it is a letter of its own.
            #[must_use]
            pub fn why(self) -> &'static str {
                match self { $(Self::$variant => $why),+ }
            }
        }
    };
}

letters! {
    Unavailable "unavailable" Standard
        "is answered 503 before acceptance"
        "The plain refusal: nothing was accepted, and another try may do.";
    RateLimited "rate-limited" Standard
        "is answered 429 with Retry-After: 1 before acceptance"
        "A refusal that says when to come back.";
    Permanent "permanent" Standard
        "is answered 400 before acceptance"
        "An answer that will never change: an honest client stops here.";
    Redirect "redirect" Standard
        "is answered 307 before acceptance"
        "The HTTP library sends the next attempt by itself, with the headers it sees fit.";
    InFlight "in-flight" Standard
        "is answered 409 before acceptance"
        "Another request under the key is said to be at work: neither success nor failure.";
    ResetBefore "reset-before" Standard
        "is cut by an RST before acceptance"
        "Nobody knows, and nothing was accepted: whoever gives up loses the message.";
    HalfPromise "half-promise" Standard
        "gets half the head of a success that never was"
        "Whoever believes the status line alone loses the message.";
    ErrorAfter "error-after" Standard
        "is accepted and answered 500; the key replays the true answer"
        "A server error after acceptance: a retry without the key sends twice.";
    ErrorStored "error-stored" Standard
        "is accepted and answered 500, which the key replays from then on"
        "The error sticks to the key: whoever escapes it by a new key sends twice.";
    HangAfter "hang-after" Standard
        "is accepted and never answered"
        "The client's own timeout ends it: the original double send.";
    CloseAfter "close-after" Standard
        "is accepted and closed with a FIN in place of an answer"
        "HTTP libraries resend by themselves on a closed connection.";
    BodyCut "body-cut" Standard
        "is accepted; its 201 is cut in the body"
        "A success that cannot be read to its end.";
    ErrorBefore "error-before" More
        "is answered 500 before acceptance"
        "Looks like error-after and has the opposite consequence.";
    HangBefore "hang-before" More
        "is never answered and never accepted"
        "Looks like hang-after and has the opposite consequence.";
    CloseBefore "close-before" More
        "is closed with a FIN before acceptance"
        "Looks like close-after and has the opposite consequence.";
    FalseSuccess "false-success" More
        "gets a whole 2xx that is not JSON, and was never accepted"
        "A page of something in between: whoever trusts the status loses the message.";
    LateAccept "late-accept" More
        "is accepted only after the client has given up waiting"
        "The acceptance races the retry: the key is at work when the retry comes.";
    ResetAfter "reset-after" More
        "is accepted and cut by an RST"
        "Looks like reset-before and has the opposite consequence.";
    HeadCut "head-cut" More
        "is accepted; its 201 is cut in the head"
        "Looks like half-promise and has the opposite consequence.";
    BadJson "bad-json" More
        "is accepted; its 201 has a body that is not JSON"
        "A success that is whole by its length and makes no sense.";
    NotHttp "not-http" More
        "is accepted and answered with bytes that are not HTTP"
        "An error of the protocol, not of the connection.";
    UnavailableAfter "unavailable-after" More
        "is accepted and answered 503"
        "A refusal that lies: a balancer gave up on a provider that did not.";
    LateAnswer "late-answer" More
        "is accepted; its answer leaves after the client has given up waiting"
        "The answer meets a client that has hung up.";
    RateLimitedDate "rate-limited-date" More
        "is answered 429 with a Retry-After that is a date, before acceptance"
        "The same as rate-limited in the other form: whoever reads numbers alone comes at once.";
    ToxicTimeout "toxic-timeout" Toxics
        "is accepted; a toxic swallows its answer"
        "The loss is the network's: the provider believes that it has answered.";
    ToxicReset "toxic-reset" Toxics
        "is accepted; a toxic resets the connection under its answer"
        "The same, told to the client at once.";
    ToxicLimit "toxic-limit" Toxics
        "is accepted; a toxic cuts its answer after a few bytes"
        "The same, after the beginning of the answer.";
    KillBefore "kill-before" Processes
        "meets SIGKILL of the client and its restart, and is accepted only then"
        "The client dies while the provider has its request in hand: what nobody waits for is sent all the same.";
    KillAfter "kill-after" Processes
        "is accepted and meets SIGKILL of the client, and its restart"
        "What the client had not stored is gone; the phone has buzzed.";
    KillAnswered "kill-answered" Processes
        "is answered, and the client gets SIGKILL before it can act on it"
        "The answer was delivered and never used.";
    PauseAfter "pause-after" Processes
        "is accepted while the client stands still past its read timeout"
        "Every timer of the client has run out when it goes on.";
}

impl Letter {
    /// Whether it needs to know the client's read timeout.
    #[must_use]
    pub fn needs_read_timeout(self) -> bool {
        matches!(self, Self::LateAccept | Self::LateAnswer | Self::PauseAfter)
    }

    /// Whether it touches more than its own attempt, so that its script needs a lab to itself.
    #[must_use]
    pub fn is_exclusive(self) -> bool {
        self.set() == Set::Processes
    }

    /// Whether the message is accepted before it acts.
    #[must_use]
    pub fn is_after_acceptance(self) -> bool {
        match self {
            Self::Unavailable
            | Self::RateLimited
            | Self::Permanent
            | Self::Redirect
            | Self::InFlight
            | Self::ResetBefore
            | Self::HalfPromise
            | Self::ErrorBefore
            | Self::HangBefore
            | Self::CloseBefore
            | Self::FalseSuccess
            | Self::LateAccept
            | Self::RateLimitedDate
            | Self::KillBefore => false,
            Self::ErrorAfter
            | Self::ErrorStored
            | Self::HangAfter
            | Self::CloseAfter
            | Self::BodyCut
            | Self::ResetAfter
            | Self::HeadCut
            | Self::BadJson
            | Self::NotHttp
            | Self::UnavailableAfter
            | Self::LateAnswer
            | Self::ToxicTimeout
            | Self::ToxicReset
            | Self::ToxicLimit
            | Self::KillAfter
            | Self::KillAnswered
            | Self::PauseAfter => true,
        }
    }

    /// The letter that looks the same to the client and differs in acceptance, where there is one.
    #[must_use]
    pub fn twin(self) -> Option<Self> {
        const TWINS: [(Letter, Letter); 8] = [
            (Letter::Unavailable, Letter::UnavailableAfter),
            (Letter::ErrorBefore, Letter::ErrorAfter),
            (Letter::HangBefore, Letter::HangAfter),
            (Letter::ResetBefore, Letter::ResetAfter),
            (Letter::CloseBefore, Letter::CloseAfter),
            (Letter::HalfPromise, Letter::HeadCut),
            (Letter::FalseSuccess, Letter::BadJson),
            (Letter::LateAccept, Letter::LateAnswer),
        ];
        TWINS.iter().find_map(|(before, after)| {
            if *before == self {
                Some(*after)
            } else {
                (*after == self).then_some(*before)
            }
        })
    }
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_letters_have_one_name() {
        let names: BTreeSet<_> = Letter::ALL.iter().map(|l| l.as_str()).collect();
        assert_eq!(names.len(), Letter::ALL.len());
    }

    #[test]
    fn a_twin_is_mutual_and_of_the_other_stage() {
        for letter in Letter::ALL {
            if let Some(twin) = letter.twin() {
                assert_eq!(twin.twin(), Some(*letter));
                assert_ne!(twin.is_after_acceptance(), letter.is_after_acceptance());
            }
        }
    }
}
