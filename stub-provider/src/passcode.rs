//! The one-time code in a message, for whoever has to type it.
//!
//! Owns picking it out. Two kinds count: the last line of an origin-bound message
//! (`@host #code`, <https://wicg.github.io/sms-one-time-codes/>), and digits in a message that
//! calls something a code. Prices, dates, telephone numbers and links are none.

/// What messages call a code, in lower case, in some of the languages in which they are sent.
const WORDS: &[&str] = &[
    "code",
    " otp",
    "passcode",
    " pin",
    "password",
    "verif",
    "código",
    "codigo",
    "codice",
    "kod",
    "kód",
    "koodi",
    "код",
    "пароль",
    "认证码",
    "验证码",
    "認証",
    "コード",
    "인증",
    "رمز",
];
/// The fewest and the most digits of a code.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=8;

/// The code in `text`; `None` where there is none that is plainly one.
pub(crate) fn passcode(text: &str) -> Option<String> {
    bound(text).or_else(|| named(text))
}

/// The code of an origin-bound message.
fn bound(text: &str) -> Option<String> {
    let last = text.trim_end().lines().next_back()?;
    let (_, code) = last.strip_prefix('@')?.split_once(" #")?;
    let code = code.split(' ').next()?;
    (!code.is_empty()).then(|| code.to_owned())
}

/// The digits nearest to a word for a code.
fn named(text: &str) -> Option<String> {
    // Short words count only at the beginning of a word.
    let lower = format!(" {}", text.to_lowercase());
    // Lower case can have another length: places are then compared as well as they can be.
    let words: Vec<usize> = WORDS
        .iter()
        .flat_map(|word| lower.match_indices(word).map(|(at, _)| at))
        .collect();
    let near = |at: usize| words.iter().map(|word| word.abs_diff(at)).min();
    candidates(text)
        .into_iter()
        .filter_map(|(at, code)| Some((near(at)?, code)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, code)| code)
}

/// Each run of digits that can be a code, with its place: alone, or in two groups of three or four.
fn candidates(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // Words are parted by white space; what stands around one does not belong to it.
    for word in text.split_whitespace() {
        let place = word.as_ptr() as usize - text.as_ptr() as usize;
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !"+$€£¥/@%".contains(c));
        // A prefix such as `G-` belongs to the brand.
        let bare = match bare.split_once('-') {
            Some((brand, rest)) if brand.chars().all(char::is_alphabetic) => rest,
            _ => bare,
        };
        let digits = match bare.split_once('-') {
            Some((a, b)) if a.len() == b.len() && (3..=4).contains(&a.len()) => format!("{a}{b}"),
            _ => bare.to_owned(),
        };
        if DIGITS.contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) {
            found.push((place, digits));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_picked_out() {
        for (text, code) in [
            ("Your login code is 482913.", "482913"),
            ("482913 is your verification code", "482913"),
            ("G-482913 is your code", "482913"),
            ("Your code: 482-913", "482913"),
            ("Paid 2026 EUR? Your OTP is 0042. Valid 10 min", "0042"),
            ("Ваш код 1234", "1234"),
            ("验证码 123456，", "123456"),
            ("Anything\n\n@example.com #7a9f", "7a9f"),
            ("(code 12345678)", "12345678"),
        ] {
            assert_eq!(passcode(text).as_deref(), Some(code), "{text}");
        }
    }

    #[test]
    fn what_is_not_plainly_a_code_is_none() {
        for text in [
            "",
            "Your parcel 482913 has arrived",
            "Your code is +12025550142",
            "The code costs $1234",
            "Your code is 123",
            "Your code is 123456789",
            "code https://example.com/123456",
            "code 12.3456",
            "code a1234",
        ] {
            assert_eq!(passcode(text), None, "{text}");
        }
    }
}
