//! [`Segments`]: how many parts a message has, as it is billed.
//!
//! Owns the GSM 7-bit alphabet (3GPP TS 23.038, sections 6.2.1 and 6.2.1.1) and the sizes of
//! parts. One character outside of it turns a whole message to UCS-2, where a part holds 70
//! characters in place of 160; a message of several parts loses some of each to the header that
//! joins them.

use serde::Serialize;

/// The basic character set; each takes one septet.
const BASIC: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?\
                     ¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
/// The extension table; each takes an escape and one more septet.
const EXTENDED: &str = "\u{c}^{}\\[~]|€";

/// How the words travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Encoding {
    /// Septets of the GSM alphabet.
    #[serde(rename = "GSM-7")]
    Gsm7,
    /// UTF-16 code units.
    #[serde(rename = "UCS-2")]
    Ucs2,
}

/// The parts of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Segments {
    /// How the words travel.
    pub(crate) encoding: Encoding,
    /// Septets, or UTF-16 code units.
    pub(crate) units: usize,
    /// How many parts are billed; an empty message is one.
    pub(crate) count: usize,
}

impl Segments {
    /// The parts of `text`.
    pub(crate) fn of(text: &str) -> Self {
        let septets: Option<Vec<usize>> = text.chars().map(septets).collect();
        match septets {
            Some(widths) => Self::split(Encoding::Gsm7, widths.into_iter(), 160, 153),
            None => Self::split(Encoding::Ucs2, text.chars().map(char::len_utf16), 70, 67),
        }
    }

    /// A character of two units is never torn: it goes to the next part whole.
    fn split(
        encoding: Encoding,
        widths: impl Iterator<Item = usize> + Clone,
        alone: usize,
        joined: usize,
    ) -> Self {
        let units = widths.clone().sum();
        let mut count = 1;
        if units > alone {
            let mut used = 0;
            for width in widths {
                if used + width > joined {
                    count += 1;
                    used = 0;
                }
                used += width;
            }
        }
        Self {
            encoding,
            units,
            count,
        }
    }
}

/// How many septets a character takes; `None` where the alphabet does not have it.
fn septets(character: char) -> Option<usize> {
    if BASIC.contains(character) {
        Some(1)
    } else if EXTENDED.contains(character) {
        Some(2)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> (Encoding, usize, usize) {
        let parts = Segments::of(text);
        (parts.encoding, parts.units, parts.count)
    }

    #[test]
    fn the_alphabet_has_its_127_characters_and_the_extension_10() {
        // 128 places, one of which is the escape.
        assert_eq!(BASIC.chars().count(), 127);
        assert_eq!(EXTENDED.chars().count(), 10);
    }

    #[test]
    fn a_message_is_one_part_up_to_its_size_and_smaller_parts_beyond() {
        for (text, parts) in [
            (String::new(), (Encoding::Gsm7, 0, 1)),
            ("a".repeat(160), (Encoding::Gsm7, 160, 1)),
            ("a".repeat(161), (Encoding::Gsm7, 161, 2)),
            ("a".repeat(306), (Encoding::Gsm7, 306, 2)),
            ("a".repeat(307), (Encoding::Gsm7, 307, 3)),
            ("€".repeat(80), (Encoding::Gsm7, 160, 1)),
            ("ж".repeat(70), (Encoding::Ucs2, 70, 1)),
            ("ж".repeat(71), (Encoding::Ucs2, 71, 2)),
            ("a".repeat(134) + "ж", (Encoding::Ucs2, 135, 3)),
        ] {
            assert_eq!(of(&text), parts, "{text}");
        }
    }

    #[test]
    fn a_character_of_two_units_is_not_torn() {
        // 76 euro signs fill 152 of 153 septets; the next would be torn.
        assert_eq!(of(&"€".repeat(153)), (Encoding::Gsm7, 306, 3));
        // 33 emoji fill 66 of 67 units.
        assert_eq!(of(&"🙂".repeat(67)), (Encoding::Ucs2, 134, 3));
    }

    proptest! {
        #[test]
        fn the_parts_hold_the_message_and_no_part_could_be_spared(text in "\\PC{0,400}") {
            let parts = Segments::of(&text);
            let (alone, joined) = match parts.encoding {
                Encoding::Gsm7 => (160, 153),
                Encoding::Ucs2 => (70, 67),
            };
            if parts.count == 1 {
                prop_assert!(parts.units <= alone);
            } else {
                prop_assert!(parts.units > alone && parts.units <= parts.count * joined);
                // At most one unit is lost at the end of each part but the last.
                prop_assert!(parts.units > (parts.count - 1) * (joined - 1));
            }
        }
    }
}
