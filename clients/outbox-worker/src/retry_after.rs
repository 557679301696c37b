//! Reading `Retry-After` (RFC 9110, section 10.2.3): delta-seconds or an HTTP-date.
//!
//! A value is a promise to stay away, so anything that can be read is a hard bound,
//! and anything that cannot (negative, fractional, prose) is no bound at all: the
//! caller's own backoff then applies. Which values are too long to wait for is the
//! policy's decision, not this module's.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use crate::clock::UnixMillis;

/// The earliest moment at which the provider wants to be asked again, or `None`
/// where the header says nothing usable (garbage, negative, zero or past).
///
/// `received` is when the answer arrived: delta-seconds count from there.
#[must_use]
pub fn not_before(value: &str, received: UnixMillis) -> Option<UnixMillis> {
    let value = value.trim_matches([' ', '\t']);
    let at = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // All digits but too many of them is still a number: a huge one.
        let seconds: i64 = value.parse().unwrap_or(i64::MAX);
        // `received` was rounded down, hence the extra millisecond.
        received
            .saturating_add(1)
            .saturating_add(seconds.saturating_mul(1000))
    } else {
        http_date(value)?
    };
    (at > received.saturating_add(1)).then_some(at)
}

/// The three forms of an HTTP-date that a recipient must accept (RFC 9110, section 5.6.7).
fn http_date(value: &str) -> Option<UnixMillis> {
    let words: Vec<&str> = value.split_ascii_whitespace().collect();
    let (day, month, year, time) = match words.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        [weekday, day, month, year, time, "GMT"] if weekday.ends_with(',') => {
            (number(day, 2)?, *month, number(year, 4)?, *time)
        }
        // Sunday, 06-Nov-94 08:49:37 GMT
        [weekday, date, time, "GMT"] if weekday.ends_with(',') => {
            let mut parts = date.split('-');
            let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
            if parts.next().is_some() {
                return None;
            }
            (number(day, 2)?, month, full_year(number(year, 2)?), *time)
        }
        // Sun Nov  6 08:49:37 1994
        [_, month, day, time, year] => {
            let width = day.len().clamp(1, 2);
            (number(day, width)?, *month, number(year, 4)?, *time)
        }
        _ => return None,
    };
    let month = 1 + MONTHS.iter().position(|name| *name == month)?;
    let mut clock = time.split(':');
    let (hour, minute, second) = (clock.next()?, clock.next()?, clock.next()?);
    if clock.next().is_some() {
        return None;
    }
    // A leap second (60) is read as the second before it, which RFC 9110 leaves open.
    let second = number(second, 2)?.min(59);
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let time = Time::new(
        i8::try_from(number(hour, 2)?).ok()?,
        i8::try_from(number(minute, 2)?).ok()?,
        i8::try_from(second).ok()?,
        0,
    )
    .ok()?;
    let zoned = TimeZone::UTC
        .to_zoned(DateTime::from_parts(date, time))
        .ok()?;
    Some(zoned.timestamp().as_millisecond())
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Exactly `width` decimal digits.
fn number(text: &str, width: usize) -> Option<i16> {
    (text.len() == width && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// A two-digit year of the obsolete form: this century, as no provider dates into the last.
fn full_year(two_digits: i16) -> i16 {
    2000 + two_digits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-03-01T12:00:00Z
    const NOON: UnixMillis = 1_772_366_400_000;

    #[test]
    fn delta_seconds_count_from_the_receipt_of_the_answer() {
        assert_eq!(not_before("2", NOON), Some(NOON + 2001));
        assert_eq!(not_before(" 2\t", NOON), Some(NOON + 2001));
    }

    #[test]
    fn all_three_forms_of_a_future_date_are_read() {
        for form in [
            "Sun, 01 Mar 2026 12:00:05 GMT",
            "Sunday, 01-Mar-26 12:00:05 GMT",
            "Sun Mar  1 12:00:05 2026",
        ] {
            assert_eq!(not_before(form, NOON), Some(NOON + 5000), "{form}");
        }
    }

    #[test]
    fn past_zero_negative_and_garbage_leave_the_choice_to_the_client() {
        for value in [
            "0",
            "-5",
            "-2026",
            "+3",
            "1.5",
            "",
            "soon",
            "Sun, 01 Mar 2026 11:59:59 GMT",
            "Sun, 32 Mar 2026 12:00:05 GMT",
            "Sun, 01 Mar 2026 12:00:05 CET",
            "Sun, 01 Mar 2026 25:00:05 GMT",
            "2026-03-01T12:00:05Z",
            "1, 2",
        ] {
            assert_eq!(not_before(value, NOON), None, "{value}");
        }
    }

    #[test]
    fn a_number_too_long_for_any_integer_is_huge_and_not_garbage() {
        assert_eq!(
            not_before("99999999999999999999999999", NOON),
            Some(i64::MAX)
        );
    }

    proptest! {
        #[test]
        fn any_header_is_read_without_a_panic_and_never_into_the_past(value in "\\PC{0,40}") {
            if let Some(at) = not_before(&value, NOON) {
                prop_assert!(at > NOON);
            }
        }

        #[test]
        fn every_positive_delta_is_a_bound_that_is_not_early(seconds in 1u32..) {
            let at = not_before(&seconds.to_string(), NOON).expect("a delta is a bound");
            prop_assert!(at >= NOON + i64::from(seconds) * 1000);
        }

        #[test]
        fn an_imf_fixdate_is_read_to_the_second(seconds in 1i64..2_000_000_000) {
            let at = NOON + seconds * 1000;
            let date = jiff::Timestamp::from_millisecond(at).expect("in range");
            let text = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            prop_assert_eq!(not_before(&text, NOON), Some(at));
        }
    }
}
