//! What a quota lets through, and what it says when it does not.

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn quotas(quota: Quota) -> Quotas {
    Quotas::new(quota).expect("a limit")
}

fn rate(text: &str) -> Quotas {
    quotas(Quota {
        rate: Some(text.parse().expect("a rate")),
        ..Quota::default()
    })
}

#[test]
fn no_limit_is_no_bookkeeping() {
    assert!(Quotas::new(Quota::default()).is_none());
}

#[test]
fn rates_are_read_and_nonsense_is_refused_with_the_right_form() {
    for (text, count, per) in [
        ("10/s", 10, SECOND),
        ("600/m", 600, SECOND * 60),
        ("5/2s", 5, SECOND * 2),
        ("1/h", 1, SECOND * 3600),
    ] {
        assert_eq!(text.parse(), Ok(Rate { count, per }), "{text}");
        let rate = Rate { count, per };
        assert_eq!(rate.to_string().parse(), Ok(rate), "{text}");
    }
    for text in [
        "", "10", "10/", "/s", "0/s", "-1/s", "10/0s", "ten/s", "10/s/s",
    ] {
        let error = text.parse::<Rate>().expect_err(text);
        assert!(error.contains("10/s"), "{error}");
    }
}

#[test]
fn a_bucket_empties_at_once_and_fills_with_time() {
    let quotas = rate("2/s");
    let at = |millis| quotas.admit("a", Duration::from_millis(millis)).map(|_| ());
    let limited = |millis| {
        Err(Limited {
            by: Limit::Rate,
            wait: Duration::from_millis(millis),
        })
    };
    assert_eq!((at(0), at(0), at(0)), (Ok(()), Ok(()), limited(500)));
    assert_eq!(
        (at(499), at(500), at(500)),
        (limited(1), Ok(()), limited(500))
    );
    assert_eq!(
        (at(9_000), at(9_000), at(9_000)),
        (Ok(()), Ok(()), limited(500))
    );
    quotas.admit("b", Duration::ZERO).expect("another customer");
    assert_eq!(quotas.turned_away(Limit::Rate), 4);
}

proptest! {
    #[test]
    fn no_window_ever_sees_more_than_the_bucket_and_what_flowed_in(
        count in 1u32..5, steps in prop::collection::vec(0u64..400, 1..60),
    ) {
        let quotas = rate(&format!("{count}/s"));
        let mut now = Duration::ZERO;
        let mut taken: Vec<Duration> = Vec::new();
        for step in steps {
            now += Duration::from_millis(step);
            match quotas.admit("a", now) {
                Ok(_) => taken.push(now),
                Err(limited) => {
                    prop_assert!(limited.wait > Duration::ZERO);
                    // Who waits as long as it is told is let in.
                    now += limited.wait;
                    prop_assert!(quotas.admit("a", now).is_ok());
                    taken.push(now);
                }
            }
        }
        for (first, from) in taken.iter().enumerate() {
            for (last, to) in taken.iter().enumerate().skip(first) {
                let flowed = to.saturating_sub(*from).as_secs_f64() * f64::from(count);
                let most = f64::from(count) + flowed + 1e-6;
                let went = u32::try_from(last - first + 1).expect("a few");
                prop_assert!(f64::from(went) <= most);
            }
        }
    }
}

#[test]
fn at_once_means_until_the_permit_is_given_back() {
    let quotas = quotas(Quota {
        concurrency: Some(1),
        ..Quota::default()
    });
    let first = quotas.admit("a", SECOND).expect("the first");
    let second = quotas.admit("a", SECOND).expect_err("one too many");
    assert_eq!((second.by, second.wait), (Limit::Concurrency, SECOND));
    quotas.admit("b", SECOND).expect("another customer");
    drop(first);
    quotas.admit("a", SECOND).expect("the first is gone");
}

#[test]
fn a_day_ends_at_midnight() {
    let quotas = quotas(Quota {
        daily: Some(1),
        ..Quota::default()
    });
    let at = |secs| {
        let unix = Duration::from_secs(secs);
        quotas.take("a", None, SECOND, unix, SECOND)
    };
    let evening = 20_000 * DAY - 60;
    at(evening).expect("the first");
    let second = at(evening + 10).expect_err("one too many");
    assert_eq!(
        (second.by, second.wait),
        (Limit::Daily, Duration::from_secs(50))
    );
    at(evening + 60).expect("a new day");
}

#[test]
fn a_queue_has_room_again_when_its_first_leaves() {
    let quotas = quotas(Quota {
        queue: Some(2),
        ..Quota::default()
    });
    let take =
        |sender, now, queued| quotas.take("a", sender, SECOND * now, SECOND * now, SECOND * queued);
    take(None, 0, 10).expect("room");
    take(None, 0, 4).expect("room");
    let third = take(None, 1, 1).expect_err("full");
    assert_eq!((third.by, third.wait), (Limit::Queue, SECOND * 3));
    take(Some("+12025550100"), 1, 1).expect("another sender");
    take(None, 4, 1).expect("one has left");
    take(None, 4, 1).expect_err("full again");
}
