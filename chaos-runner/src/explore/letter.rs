//! The alphabet: the faults that one attempt can meet.
//!
//! Owns [`Letter`] with its name, its place in the order, its reason to be and the fault that it
//! stands for, and the [`Alphabet`] that a run is asked for. The reference in `docs/explore.md` is
//! written from here.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    str::FromStr,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use stub_provider::{
    duration::Span,
    fault::{
        AtStage, Delay, Ending, Garble, Garbling, Hang, Part, ProviderFault, RateLimit, Redirect,
        Respond, Stage, Truncate,
    },
};

use crate::fault::{
    Action, ClientFault, ClientFaultAt, ClientPause, ClientProcess, ClientStage, Stream, Toxic,
    ToxicKind,
};

/// What a rate limit asks a client to wait: the least that whole seconds can say.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How many bytes of a head or a body go out before it is cut.
const CUT: u32 = 12;

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
        "meets SIGKILL of the client before acceptance, and the client's restart"
        "What the client had not stored is gone; nothing was accepted.";
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

/// What letters need to know of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long it waits for an answer, where it says so.
    pub read_timeout: Option<Duration>,
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
            | Self::LateAccept
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
            (Letter::LateAccept, Letter::LateAnswer),
            (Letter::KillBefore, Letter::KillAfter),
        ];
        TWINS.iter().find_map(|(before, after)| {
            if *before == self {
                Some(*after)
            } else {
                (*after == self).then_some(*before)
            }
        })
    }

    /// The fault that it stands for.
    #[must_use]
    pub fn action(self, timing: Timing) -> Action {
        let provider = Action::Provider;
        let respond = |stage, status| Respond {
            stage,
            status,
            code: None,
            body: None,
            headers: BTreeMap::new(),
            retry_after: None,
            retry_after_date: None,
            stored: false,
        };
        let answered = |stage, status| provider(ProviderFault::Respond(respond(stage, status)));
        let cut = |stage, part| {
            provider(ProviderFault::Truncate(Truncate {
                stage,
                part,
                after: CUT,
                ending: Ending::Close,
            }))
        };
        let (before, after) = (Stage::BeforeAccept, Stage::AfterAccept);
        let at = |stage| AtStage { stage };
        // Half as long again: surely too late, and no longer than it must be.
        let too_late = Span(timing.read_timeout.unwrap_or_default() * 3 / 2);
        let garbled = |how| provider(ProviderFault::Garble(Garble { stage: after, how }));
        let late = |stage| {
            provider(ProviderFault::Delay(Delay {
                stage,
                lasts: too_late,
            }))
        };
        let killed = |stage| {
            Action::Client(ClientFault::Kill(ClientFaultAt {
                stage,
                process: ClientProcess::Sender,
                restart_after: Span::default(),
            }))
        };
        match self {
            Self::Unavailable => answered(before, 503),
            Self::RateLimited => provider(ProviderFault::RateLimit(RateLimit {
                retry_after: Some(Span(RETRY_AFTER)),
                ..RateLimit::default()
            })),
            Self::Permanent => answered(before, 400),
            Self::Redirect => provider(ProviderFault::Redirect(Redirect { status: 307 })),
            Self::InFlight => answered(before, 409),
            Self::ResetBefore => provider(ProviderFault::Reset(at(before))),
            Self::HalfPromise => cut(before, Part::Head),
            Self::ErrorAfter => answered(after, 500),
            Self::ErrorStored => provider(ProviderFault::Respond(Respond {
                stored: true,
                ..respond(after, 500)
            })),
            Self::HangAfter => provider(ProviderFault::Hang(Hang { stage: after })),
            Self::CloseAfter => provider(ProviderFault::Close(at(after))),
            Self::BodyCut => cut(after, Part::Body),
            Self::ErrorBefore => answered(before, 500),
            Self::HangBefore => provider(ProviderFault::Hang(Hang { stage: before })),
            Self::CloseBefore => provider(ProviderFault::Close(at(before))),
            Self::LateAccept => late(before),
            Self::ResetAfter => provider(ProviderFault::Reset(at(after))),
            Self::HeadCut => cut(after, Part::Head),
            Self::BadJson => garbled(Garbling::BadJson),
            Self::NotHttp => garbled(Garbling::NotHttp),
            Self::UnavailableAfter => answered(after, 503),
            Self::LateAnswer => late(after),
            Self::ToxicTimeout => toxic(ToxicKind::Timeout, "timeout", 0),
            Self::ToxicReset => toxic(ToxicKind::ResetPeer, "timeout", 0),
            Self::ToxicLimit => toxic(ToxicKind::LimitData, "bytes", CUT.into()),
            Self::KillBefore => killed(ClientStage::BeforeAccept),
            Self::KillAfter => killed(ClientStage::AfterAccept),
            Self::KillAnswered => killed(ClientStage::Answered),
            Self::PauseAfter => Action::Client(ClientFault::Pause(ClientPause {
                stage: ClientStage::AfterAccept,
                process: ClientProcess::Sender,
                lasts: too_late,
            })),
        }
    }
}

fn toxic(kind: ToxicKind, attribute: &str, value: u64) -> Action {
    Action::Toxic(Toxic {
        kind,
        stream: Stream::Downstream,
        toxicity: 1.0,
        attributes: BTreeMap::from([(attribute.to_owned(), value)]),
    })
}

/// The letters as a table in Markdown, for `docs/explore.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    for (set, heading) in [
        (Set::Standard, "`standard`, the default"),
        (Set::More, "`all` adds"),
        (Set::Toxics, "`toxics`"),
        (Set::Processes, "`processes`"),
    ] {
        let _ = writeln!(text, "\n### {heading}\n");
        text.push_str("| letter | the attempt | why it is one |\n|---|---|---|\n");
        for letter in of_sets(&[set]) {
            let _ = writeln!(
                text,
                "| `{letter}` | {} | {} |",
                letter.does(),
                letter.why()
            );
        }
    }
    text
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The letters of an exploration, in their order and without repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Alphabet(Vec<Letter>);

impl Alphabet {
    /// An alphabet of these letters.
    #[must_use]
    pub fn new(letters: impl IntoIterator<Item = Letter>) -> Self {
        let mut letters: Vec<Letter> = letters.into_iter().collect();
        letters.sort_unstable();
        letters.dedup();
        Self(letters)
    }

    /// Its letters.
    #[must_use]
    pub fn letters(&self) -> &[Letter] {
        &self.0
    }
}

impl Default for Alphabet {
    fn default() -> Self {
        Self::new(of_sets(&[Set::Standard]))
    }
}

fn of_sets(sets: &[Set]) -> impl Iterator<Item = Letter> {
    Letter::ALL
        .iter()
        .copied()
        .filter(move |letter| sets.contains(&letter.set()))
}

impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|letter| letter.as_str()).collect();
        f.write_str(&words.join(","))
    }
}

impl FromStr for Alphabet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut letters = Vec::new();
        for word in text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            match word {
                "standard" => letters.extend(of_sets(&[Set::Standard])),
                "all" => letters.extend(of_sets(&[Set::Standard, Set::More])),
                "toxics" => letters.extend(of_sets(&[Set::Toxics])),
                "processes" => letters.extend(of_sets(&[Set::Processes])),
                name => letters.push(named(name)?),
            }
        }
        if letters.is_empty() {
            return Err("name at least one fault, or a set of them".into());
        }
        Ok(Self::new(letters))
    }
}

fn named(name: &str) -> Result<Letter, String> {
    if let Some(letter) = Letter::ALL.iter().find(|letter| letter.as_str() == name) {
        return Ok(*letter);
    }
    let near = Letter::ALL
        .iter()
        .map(|letter| letter.as_str())
        .chain(["standard", "all", "toxics", "processes"])
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    Err(match near {
        Some((_, known)) => format!("`{name}` is no fault: did you mean `{known}`?"),
        None => format!(
            "`{name}` is no fault: write standard, all, toxics, processes, or names from \
             docs/explore.md"
        ),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const TIMING: Timing = Timing {
        read_timeout: Some(Duration::from_millis(300)),
    };

    #[test]
    fn no_two_letters_have_one_name_or_one_fault() {
        let names: BTreeSet<_> = Letter::ALL.iter().map(|l| l.as_str()).collect();
        assert_eq!(names.len(), Letter::ALL.len());
        for (nth, letter) in Letter::ALL.iter().enumerate() {
            for other in &Letter::ALL[..nth] {
                assert_ne!(
                    letter.action(TIMING),
                    other.action(TIMING),
                    "{letter} {other}"
                );
            }
        }
    }

    #[test]
    fn the_standard_alphabet_has_a_dozen_letters_at_both_stages() {
        let standard = Alphabet::default();
        assert_eq!(standard.letters().len(), 12);
        let after = |letter: &&Letter| letter.is_after_acceptance();
        assert!(standard.letters().iter().filter(after).count() >= 5);
    }

    #[test]
    fn sets_and_names_make_an_alphabet_in_one_order_whatever_the_order_of_the_words() {
        let one: Alphabet = "hang-after,unavailable".parse().expect("two letters");
        let other: Alphabet = "unavailable, hang-after,unavailable".parse().expect("two");
        assert_eq!(one, other);
        assert_eq!(one.to_string(), "unavailable,hang-after");
        let all: Alphabet = "all".parse().expect("a set");
        assert!(all.letters().len() > Alphabet::default().letters().len());
        assert_eq!(all.to_string().parse::<Alphabet>(), Ok(all));
    }

    #[test]
    fn a_slip_is_answered_with_what_was_meant() {
        let error = "hang-aftr".parse::<Alphabet>().expect_err("no such letter");
        assert!(error.contains("did you mean `hang-after`?"), "{error}");
        assert!("".parse::<Alphabet>().is_err());
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
