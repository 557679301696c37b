//! Does the client come back when the provider says, in whichever form it says it?
//!
//! Counted from the moment the answer left the provider to the arrival of the next request.

use stub_provider::fault::ProviderFault;

use super::Bound;
use crate::{
    checks::{Observed, Symptom, SymptomKind},
    fault::Action,
    history::{
        Answer,
        retry::{Cause, Retry, retries},
        view::{AttemptView, View},
    },
    intent::Outcome,
};

/// What the check holds a client to: the clock of a timer may be off.
pub(in crate::checks) const BOUND: Bound = Bound {
    proof: "a request that arrived sooner after the answer left than the answer asked for",
    tolerance_us: 5_000,
};
/// From here on a wait is no longer one that a client should sit out, in seconds.
const HUGE_S: u64 = 3_600;
/// What a wait may be longer than the client's own longest one, in microseconds.
const SLACK_US: u64 = 2_000_000;

/// The forms of a `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::checks) enum Form {
    /// Whole seconds, above zero.
    Seconds(u64),
    /// Whole seconds, an hour or more.
    Huge(u64),
    /// An HTTP-date that lies at least this many microseconds ahead.
    Future(u64),
    /// Past, zero, negative or no sense at all.
    Odd,
}

impl Form {
    /// The form of the answer's `Retry-After`, where it has one.
    pub(in crate::checks) fn of(answer: &Answer) -> Option<Self> {
        let header = |wanted: &str| {
            answer
                .headers
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value.trim())
        };
        let value = header("retry-after")?;
        if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            return Some(match value.parse::<u64>() {
                Ok(0) => Self::Odd,
                Ok(seconds) if seconds < HUGE_S => Self::Seconds(seconds),
                Ok(seconds) => Self::Huge(seconds),
                Err(_) => Self::Huge(u64::MAX),
            });
        }
        let seconds = |text: &str| {
            jiff::fmt::rfc2822::DateTimeParser::new()
                .parse_timestamp(text)
                .ok()
                .map(jiff::Timestamp::as_second)
        };
        let (Some(then), Some(now)) = (seconds(value), header("date").and_then(seconds)) else {
            return Some(Self::Odd);
        };
        // `Date` has no fractions: the true time may be almost a second later.
        Some(match u64::try_from(then - now - 1) {
            Ok(0) | Err(_) => Self::Odd,
            Ok(ahead) if ahead >= HUGE_S => Self::Huge(ahead),
            Ok(ahead) => Self::Future(ahead * 1_000_000),
        })
    }
}

/// How long the answer's `Retry-After` asks the client to wait, in microseconds; for a date, at
/// least. `None` where there is none, or none that makes sense.
#[must_use]
pub fn asked_us(answer: &Answer) -> Option<u64> {
    match Form::of(answer)? {
        Form::Seconds(seconds) | Form::Huge(seconds) => Some(seconds.saturating_mul(1_000_000)),
        Form::Future(micros) => Some(micros),
        Form::Odd => None,
    }
}

/// Cites the answer and the request that came too early or too late.
pub(in crate::checks) fn check(view: &View<'_>) -> Observed {
    let mut seen = Observed::default();
    let mut judged = false;
    for intent in view.intents() {
        let all = retries(view, intent.number);
        for retry in &all {
            let Some(form) = asked_by(view, retry.from) else {
                continue;
            };
            let own = matches!(
                retry.cause,
                Cause::Refusal | Cause::LateRefusal | Cause::ServerError | Cause::InFlight
            );
            if !own {
                continue;
            }
            judged = true;
            if let Some((kind, detail)) = judge(view, retry, form) {
                let mut evidence: Vec<u64> =
                    retry.from.answer.map(|(m, _)| m.seq).into_iter().collect();
                evidence.push(retry.to.arrived.seq);
                seen.saw(Symptom {
                    kind,
                    intent: Some(intent.number),
                    evidence,
                    attempts: retry.attempts(),
                    detail,
                });
            }
        }
        if let Some(symptom) = never_came_back(view, intent.number) {
            judged = true;
            seen.saw(symptom);
        }
    }
    if !judged {
        seen.open("no request came after an answer with a Retry-After");
    }
    seen
}

/// The form that the answer to `attempt` asked for. A date is known exactly where a fault set it.
fn asked_by(view: &View<'_>, attempt: &AttemptView<'_>) -> Option<Form> {
    let (_, answer) = attempt.answer?;
    let form = Form::of(answer)?;
    let set = view.actions_on(attempt).find_map(|action| match action {
        Action::Provider(ProviderFault::Respond(r)) => r.retry_after_date,
        Action::Provider(ProviderFault::RateLimit(r)) => r.retry_after_date,
        _ => None,
    });
    Some(match (form, set) {
        (Form::Odd | Form::Future(_), Some(span)) if !span.0.is_zero() => {
            Form::Future(u64::try_from(span.0.as_micros()).unwrap_or(u64::MAX))
        }
        _ => form,
    })
}

fn judge(view: &View<'_>, retry: &Retry<'_, '_>, form: Form) -> Option<(SymptomKind, String)> {
    let gap = retry.gap_us();
    let cap = view
        .history
        .client
        .policy
        .backoff
        .as_ref()
        .map(|b| u64::try_from(b.cap.0.as_micros()).unwrap_or(u64::MAX));
    let early = |asked: u64| gap.saturating_add(BOUND.tolerance_us) < asked;
    match form {
        Form::Seconds(s) => early(s * 1_000_000).then(|| {
            (
                SymptomKind::CameBackEarly,
                format!("came back after {} ms, asked to wait {s} s", gap / 1_000),
            )
        }),
        Form::Future(us) => early(us).then(|| {
            (
                SymptomKind::RetryAfterMisread { early: true },
                format!(
                    "came back after {} ms, the date lay at least {} ms ahead",
                    gap / 1_000,
                    us / 1_000
                ),
            )
        }),
        Form::Huge(s) => cap.filter(|cap| early(*cap)).map(|cap| {
            (
                SymptomKind::RetryAfterMisread { early: true },
                format!(
                    "came back after {} ms, asked to wait {s} s, own maximum {} ms",
                    gap / 1_000,
                    cap / 1_000
                ),
            )
        }),
        Form::Odd => cap
            .filter(|cap| gap > cap.saturating_add(SLACK_US))
            .map(|cap| {
                (
                    SymptomKind::RetryAfterMisread { early: false },
                    format!(
                        "waited {} ms for a Retry-After that says nothing, own maximum {} ms",
                        gap / 1_000,
                        cap / 1_000
                    ),
                )
            }),
    }
}

/// A client that still waits for a time that nobody asked for.
fn never_came_back(view: &View<'_>, intent: usize) -> Option<Symptom> {
    let cap = view
        .history
        .client
        .policy
        .backoff
        .as_ref()?
        .cap
        .0
        .as_micros();
    let belief = view.belief(intent)?;
    let last = *view.tries(intent).last()?;
    let (mark, _) = last.answer?;
    let waits = belief.outcome == Some(Outcome::Pending)
        && asked_by(view, last) == Some(Form::Odd)
        && view.violence_on(intent).is_none()
        && u128::from(view.end_us.saturating_sub(mark.at_us)) > cap + u128::from(SLACK_US);
    waits.then(|| Symptom {
        kind: SymptomKind::RetryAfterMisread { early: false },
        intent: Some(intent),
        evidence: vec![mark.seq, belief.mark.seq],
        attempts: vec![last.id],
        detail: "never came back after a Retry-After that says nothing".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{
        History,
        builder::{Tale, backoff, respond, tale},
    };

    const DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");

    fn answered(value: &str, wait: u64) -> History {
        tale("retry-after", 1)
            .given(|h| h.client.policy.backoff = Some(backoff(50, 200)))
            .ask(1, Some("k"))
            .suffer(respond(stub_provider::fault::Stage::BeforeAccept, 429))
            .answer_with(429, &[DATE, ("retry-after", value)])
            .wait(wait)
            .ask(1, Some("k"))
            .accept()
            .all_sent()
    }

    fn kinds(history: &History) -> Vec<SymptomKind> {
        check(&View::new(history)).kinds()
    }

    #[test]
    fn waiting_as_long_as_asked_passes_in_every_form() {
        for (value, wait) in [
            ("2", 2_000),
            ("Sun, 06 Nov 1994 08:49:40 GMT", 2_000),
            ("Sun, 06 Nov 1994 08:49:30 GMT", 0),
            ("0", 0),
            ("-5", 10),
            ("soon", 200),
            ("86400", 200),
        ] {
            assert_eq!(kinds(&answered(value, wait)), [], "{value}");
        }
    }

    #[test]
    fn coming_back_early_is_seen_by_form() {
        assert_eq!(kinds(&answered("2", 1_500)), [SymptomKind::CameBackEarly]);
        for (value, wait, early) in [
            ("Sun, 06 Nov 1994 08:49:40 GMT", 0, true),
            ("86400", 20, true),
            ("-5", 10_000, false),
        ] {
            assert_eq!(
                kinds(&answered(value, wait)),
                [SymptomKind::RetryAfterMisread { early }],
                "{value}"
            );
        }
    }

    #[test]
    fn without_a_later_request_nothing_is_decided() {
        let history = tale("last", 1)
            .ask(1, Some("k"))
            .answer_with(429, &[("retry-after", "2")])
            .believe(1, Outcome::Dead)
            .settle();
        let seen = check(&View::new(&history));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }

    fn form(value: &str) -> Option<Form> {
        let answer = |headers: &[(&str, &str)]| Answer {
            status: 429,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: crate::history::Payload::Text(String::new()),
        };
        assert_eq!(Form::of(&answer(&[DATE])), None);
        Form::of(&answer(&[DATE, ("Retry-After", value)]))
    }

    #[test]
    fn every_form_is_read_for_what_it_is() {
        for (value, read) in [
            ("1", Form::Seconds(1)),
            (" 3599 ", Form::Seconds(3_599)),
            ("3600", Form::Huge(3_600)),
            ("99999999999999999999", Form::Huge(u64::MAX)),
            ("0", Form::Odd),
            ("", Form::Odd),
            ("soon", Form::Odd),
            ("-5", Form::Odd),
            // `Date` has no fractions: a second less than what is written is sure.
            ("Sun, 06 Nov 1994 08:49:38 GMT", Form::Odd),
            ("Sun, 06 Nov 1994 08:49:39 GMT", Form::Future(1_000_000)),
            ("Sun, 06 Nov 1994 09:49:37 GMT", Form::Future(3_599_000_000)),
            ("Sun, 06 Nov 1994 09:49:38 GMT", Form::Huge(3_600)),
            ("Sun, 06 Nov 1994 08:49:36 GMT", Form::Odd),
        ] {
            assert_eq!(form(value), Some(read), "{value:?}");
        }
    }

    #[test]
    fn a_timer_may_be_five_milliseconds_early_and_no_more() {
        // A request and its answer take three.
        assert_eq!(kinds(&answered("2", 1_992)), []);
        assert_eq!(kinds(&answered("2", 1_991)), [SymptomKind::CameBackEarly]);
        assert_eq!(kinds(&answered("86400", 192)), []);
        assert_eq!(
            kinds(&answered("86400", 191)),
            [SymptomKind::RetryAfterMisread { early: true }]
        );
    }

    #[test]
    fn what_says_nothing_may_be_waited_for_two_seconds_beyond_the_cap_and_no_longer() {
        assert_eq!(kinds(&answered("soon", 2_197)), []);
        assert_eq!(
            kinds(&answered("soon", 2_198)),
            [SymptomKind::RetryAfterMisread { early: false }]
        );
    }

    #[test]
    fn a_client_that_was_killed_meanwhile_may_come_back_at_once() {
        let history = tale("killed", 1)
            .ask(1, Some("k"))
            .answer_with(429, &[("retry-after", "2")])
            .kill()
            .ask(1, Some("k"))
            .accept()
            .all_sent();
        let seen = check(&View::new(&history));
        assert!(seen.symptoms.is_empty() && !seen.undecided.is_empty());
    }

    /// Answered with a date that a fault has set so far ahead; the header says two seconds.
    fn set_ahead(fault: ProviderFault, wait: u64) -> Vec<SymptomKind> {
        let history = tale("date", 1)
            .given(|h| h.client.policy.backoff = Some(backoff(50, 200)))
            .ask(1, Some("k"))
            .suffer(Action::Provider(fault))
            .answer_with(
                429,
                &[DATE, ("retry-after", "Sun, 06 Nov 1994 08:49:39 GMT")],
            )
            .wait(wait)
            .ask(1, Some("k"))
            .accept()
            .all_sent();
        kinds(&history)
    }

    #[test]
    fn a_date_that_a_fault_has_set_is_known_exactly() {
        let span = |millis| Some(stub_provider::duration::Span::from_millis(millis));
        let by_respond = |millis| {
            let Action::Provider(ProviderFault::Respond(respond)) =
                respond(stub_provider::fault::Stage::BeforeAccept, 429)
            else {
                panic!("a respond fault");
            };
            ProviderFault::Respond(stub_provider::fault::Respond {
                retry_after_date: span(millis),
                ..respond
            })
        };
        let by_limit = |millis| {
            ProviderFault::RateLimit(stub_provider::fault::RateLimit {
                retry_after: None,
                retry_after_date: span(millis),
                retry_after_raw: None,
            })
        };
        let early = [SymptomKind::RetryAfterMisread { early: true }];
        for fault in [by_respond(1_900), by_limit(1_900)] {
            assert_eq!(set_ahead(fault.clone(), 1_500), early);
            assert_eq!(set_ahead(fault, 1_900), []);
        }
        // None is set: the header's word is all there is.
        assert_eq!(set_ahead(by_respond(0), 1_500), []);
        assert_eq!(set_ahead(by_respond(0), 500), early);
    }

    /// Answered with `value`, and pending for so many milliseconds more when the run ends.
    fn still_out(value: &str, outcome: Outcome, millis: u64) -> Tale {
        tale("out", 1)
            .given(|h| h.client.policy.backoff = Some(backoff(50, 200)))
            .ask(1, Some("k"))
            .answer_with(429, &[DATE, ("retry-after", value)])
            .wait(millis)
            .believe(1, outcome)
    }

    #[test]
    fn a_client_that_waits_for_what_nobody_asked_for_is_seen() {
        let late = [SymptomKind::RetryAfterMisread { early: false }];
        let seen = |tale: Tale| kinds(&tale.settle());
        // From the answer on: its end, the belief and the settling take a millisecond each.
        assert_eq!(seen(still_out("soon", Outcome::Pending, 2_198)), late);
        assert_eq!(seen(still_out("soon", Outcome::Pending, 2_197)), []);
        assert_eq!(seen(still_out("soon", Outcome::Dead, 9_000)), []);
        assert_eq!(seen(still_out("86400", Outcome::Pending, 9_000)), []);
        let killed = still_out("soon", Outcome::Pending, 9_000).kill();
        assert_eq!(seen(killed.believe(1, Outcome::Pending)), []);
    }
}
