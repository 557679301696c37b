//! `provider.<kind>`: the settings that serde cannot check.

use hyper::header::{HeaderName, HeaderValue};
use stub_provider::{
    duration::Span,
    fault::{ProviderFault, Respond},
};

use super::fault::some_time;
use crate::document::Problems;

pub(crate) fn provider_settings(
    fault: &ProviderFault,
    number: &str,
    problems: &mut Problems<'_, '_>,
) {
    let at = |kind, key| ["fault", number, "provider", kind, key];
    match fault {
        ProviderFault::Respond(respond) => respond_settings(respond, number, problems),
        ProviderFault::RateLimit(limit) => {
            whole_seconds(
                limit.retry_after,
                &at("rate-limit", "retry-after"),
                problems,
            );
            let forms = [
                limit.retry_after.is_some(),
                limit.retry_after_date.is_some(),
                limit.retry_after_raw.is_some(),
            ];
            if forms.iter().filter(|given| **given).count() > 1 {
                problems.key(
                    &["fault", number, "provider", "rate-limit"],
                    "several forms",
                    "`Retry-After` is given in more than one form",
                    "keep one of retry-after, retry-after-date, retry-after-raw",
                );
            }
            if let Some(raw) = &limit.retry_after_raw
                && HeaderValue::from_str(raw).is_err()
            {
                problems.value(
                    &at("rate-limit", "retry-after-raw"),
                    "not a header's value",
                    "this cannot stand in a header",
                    "a header's value has no line breaks and no control characters",
                );
            }
        }
        ProviderFault::Redirect(redirect) if !matches!(redirect.status, 307 | 308) => {
            problems.value(
                &at("redirect", "status"),
                "307 or 308",
                format!("{} is not a redirect that keeps a POST", redirect.status),
                "use 307 or 308; for any other status there is provider.respond",
            );
        }
        ProviderFault::InFlight(flight) => {
            some_time(flight.lasts, &at("in-flight", "for"), problems);
            whole_seconds(
                flight.retry_after,
                &at("in-flight", "retry-after"),
                problems,
            );
        }
        ProviderFault::Delay(delay) => some_time(delay.lasts, &at("delay", "for"), problems),
        ProviderFault::Hang(_)
        | ProviderFault::Reset(_)
        | ProviderFault::Close(_)
        | ProviderFault::Truncate(_)
        | ProviderFault::Garble(_)
        | ProviderFault::Redirect(_)
        | ProviderFault::Crash(_) => {}
    }
}

fn respond_settings(respond: &Respond, number: &str, problems: &mut Problems<'_, '_>) {
    let at = |key| ["fault", number, "provider", "respond", key];
    if !(200..=599).contains(&respond.status) {
        problems.value(
            &at("status"),
            "200 to 599",
            format!("{} is not a status that ends an exchange", respond.status),
            "",
        );
    }
    whole_seconds(respond.retry_after, &at("retry-after"), problems);
    if respond.retry_after.is_some() && respond.retry_after_date.is_some() {
        problems.key(
            &at("retry-after-date"),
            "the second form",
            "`Retry-After` is given in two forms",
            "keep one of retry-after and retry-after-date",
        );
    }
    for (name, value) in &respond.headers {
        let path = ["fault", number, "provider", "respond", "headers", name];
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            problems.key(
                &path,
                "not a header's name",
                format!("`{name}` is not a header's name"),
                "",
            );
        } else if HeaderValue::from_str(value).is_err() {
            problems.value(
                &path,
                "not a header's value",
                "this cannot stand in a header",
                "a header's value has no line breaks and no control characters",
            );
        }
    }
}

fn whole_seconds(span: Option<Span>, path: &[&str], problems: &mut Problems<'_, '_>) {
    if span.is_some_and(|span| span.0.subsec_nanos() != 0) {
        problems.value(
            path,
            "not whole seconds",
            "`Retry-After` counts whole seconds",
            "write \"1s\" or \"2s\", or any text at all through `headers`",
        );
    }
}
