//! [`Authentication`]: whom a request is from.
//!
//! Owns the styles of credentials, for reading and for writing. No credential is ever checked:
//! whoever names a customer is that customer.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hyper::{HeaderMap, header};

use crate::place::{Place, part_of};

/// What a profile says about credentials.
#[derive(Clone, Debug)]
pub(crate) struct Authentication {
    pub(crate) style: Style,
    /// Whether a request without a credential is refused.
    pub(crate) required: bool,
    /// Whom a request without a credential is from.
    pub(crate) customer: String,
}

/// Where a credential stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `Authorization: Bearer <customer>` (RFC 6750).
    Bearer,
    /// `Authorization: Basic …` with the customer as the user (RFC 7617).
    Basic,
    /// At a place, behind a prefix.
    At { place: Place, prefix: String },
}

impl Authentication {
    /// The place that has to be read; `Place::None` for the styles of the `Authorization` header.
    pub(crate) fn place(&self) -> &Place {
        match &self.style {
            Style::At { place, .. } => place,
            Style::Bearer | Style::Basic => &Place::None,
        }
    }

    /// Whose credential a request bears; `None` where it must bear one and does not. `found` is
    /// what stands at [`Self::place`].
    pub(crate) fn customer<'a>(
        &'a self,
        headers: &'a HeaderMap,
        found: Option<Cow<'a, str>>,
    ) -> Option<Cow<'a, str>> {
        let named = match &self.style {
            Style::Bearer => scheme(headers, "bearer").map(Cow::Borrowed),
            Style::Basic => scheme(headers, "basic").and_then(user).map(Cow::Owned),
            Style::At { prefix, .. } => found.and_then(|found| {
                part_of(found, |all| {
                    Some(all.strip_prefix(prefix.as_str())?.trim().into())
                })
            }),
        };
        match named.filter(|customer| !customer.is_empty()) {
            Some(customer) => Some(customer),
            None if self.required => None,
            None => Some(Cow::Borrowed(&self.customer)),
        }
    }

    /// The credential of a customer as it stands at [`Self::place`], or in `Authorization`.
    pub(crate) fn credential(&self, customer: &str) -> String {
        match &self.style {
            Style::Bearer => format!("Bearer {customer}"),
            Style::Basic => format!("Basic {}", BASE64.encode(format!("{customer}:secret"))),
            Style::At { prefix, .. } => format!("{prefix}{customer}"),
        }
    }

    /// The scheme that a 401 asks for, where it is one of HTTP's (RFC 9110 section 11.6.1).
    pub(crate) fn challenge(&self) -> Option<&'static str> {
        match self.style {
            Style::Bearer => Some("Bearer"),
            Style::Basic => Some("Basic realm=\"stub\""),
            Style::At { .. } => None,
        }
    }

    /// Where a credential stands, in words.
    pub(super) fn in_words(&self) -> String {
        let place = match &self.style {
            Style::Bearer => "`Authorization: Bearer …`".into(),
            Style::Basic => "`Authorization: Basic …`".into(),
            Style::At { place, prefix } if prefix.is_empty() => format!("`{place}`"),
            Style::At { place, prefix } => format!("`{place}` behind `{}`", prefix.trim()),
        };
        let need = if self.required {
            "required"
        } else {
            "optional"
        };
        format!("{place}, {need}")
    }
}

/// What stands behind a scheme in `Authorization`.
fn scheme<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, credential) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case(wanted)
        .then(|| credential.trim())
}

fn user(credential: &str) -> Option<String> {
    let pair = String::from_utf8(BASE64.decode(credential).ok()?).ok()?;
    let (user, _password) = pair.split_once(':')?;
    Some(user.to_owned())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn with(style: Style) -> Authentication {
        Authentication {
            style,
            required: true,
            customer: "default".into(),
        }
    }

    fn headers(value: &str) -> HeaderMap {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
        HeaderMap::from_iter([(header::AUTHORIZATION, value)])
    }

    #[test]
    fn a_credential_names_the_customer_in_every_style() {
        for style in [Style::Bearer, Style::Basic] {
            let rules = with(style);
            let headers = headers(&rules.credential("acme"));
            assert_eq!(rules.customer(&headers, None).as_deref(), Some("acme"));
        }
        let rules = with(Style::At {
            place: "header:Authorization".parse().expect("a place"),
            prefix: "App ".into(),
        });
        let found = Some(rules.credential("acme"));
        assert_eq!(
            rules
                .customer(&HeaderMap::new(), found.map(Cow::Owned))
                .as_deref(),
            Some("acme")
        );
    }

    #[test]
    fn without_one_it_is_refused_or_the_default_customer() {
        let mut rules = with(Style::Basic);
        for value in [
            "Bearer acme",
            "Basic",
            "Basic !",
            "Basic YWNtZQ==",
            "Basic OnNlY3JldA==",
        ] {
            assert_eq!(rules.customer(&headers(value), None), None, "{value}");
        }
        rules.required = false;
        let headers = HeaderMap::new();
        let customer = rules.customer(&headers, None);
        assert_eq!(customer.as_deref(), Some("default"));
    }

    proptest! {
        #[test]
        fn no_header_makes_the_reader_fail(value in "[ -~]{0,40}") {
            for style in [Style::Bearer, Style::Basic] {
                let _ = with(style).customer(&headers(&value), None);
            }
        }
    }
}
