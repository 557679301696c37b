//! Who may use the provider's own pages from a browser.
//!
//! Owns two refusals. A page of somebody else's whose name was made to lead to this machine (DNS
//! rebinding) bears that name in `Host`: only names that nobody else can own are let in. A page of
//! somebody else's that sends a form or a script's request here says so in `Origin`
//! (RFC 6454, section 7): what changes something is taken from our own pages, or from no page.

use std::net::IpAddr;

use hyper::{HeaderMap, Method, StatusCode, header};

use crate::reply::Reply;

/// Why a request is refused; `None`: it may pass.
pub(super) fn refusal(method: &Method, headers: &HeaderMap) -> Option<Reply> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(header::HOST);
    if let Some(host) = host
        && !is_ours(host)
    {
        return Some(refuse(
            "the Host of this request is a name that anybody can own: write localhost or an address",
        ));
    }
    if method == Method::GET || method == Method::HEAD {
        return None;
    }
    let foreign = match text(header::ORIGIN) {
        Some(origin) => origin.strip_prefix("http://") != host,
        None => text(SITE).is_some_and(|site| !matches!(site, "same-origin" | "none")),
    };
    foreign.then(|| refuse("another site's page asks for this: only the provider's own may"))
}

/// What browsers say of where a request comes from (Fetch Metadata).
const SITE: header::HeaderName = header::HeaderName::from_static("sec-fetch-site");

fn refuse(why: &str) -> Reply {
    Reply::problem(StatusCode::FORBIDDEN, None, why)
}

/// Whether nobody else can own a host's name: an address, this machine's name for itself, or a
/// name without a dot, which stands in no public zone.
fn is_ours(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    let name = bare.unwrap_or(name).to_ascii_lowercase();
    name.parse::<IpAddr>().is_ok() || !name.contains('.') || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(method: &Method, said: &[(&'static str, &str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.insert(*name, value.parse().expect("a header's value"));
        }
        refusal(method, &headers).is_none()
    }

    #[test]
    fn a_name_that_anybody_can_own_is_refused() {
        for host in [
            "localhost:9090",
            "127.0.0.1:9090",
            "[::1]:9090",
            "stub",
            "a.localhost",
        ] {
            assert!(passes(&Method::GET, &[("host", host)]), "{host}");
        }
        for host in [
            "example.com",
            "127.0.0.1.example.com:9090",
            "localhost.example.com",
            "a.b",
        ] {
            assert!(!passes(&Method::GET, &[("host", host)]), "{host}");
        }
        assert!(passes(&Method::GET, &[]));
    }

    #[test]
    fn a_change_is_taken_from_our_own_pages_or_from_no_page() {
        let host = ("host", "localhost:9090");
        let post = |said: &[(&'static str, &str)]| passes(&Method::POST, &[&[host], said].concat());
        assert!(post(&[]));
        assert!(post(&[("origin", "http://localhost:9090")]));
        assert!(post(&[("sec-fetch-site", "same-origin")]));
        for origin in [
            "http://localhost:3000",
            "http://example.com",
            "null",
            "https://localhost:9090",
        ] {
            assert!(!post(&[("origin", origin)]), "{origin}");
        }
        assert!(!post(&[("sec-fetch-site", "cross-site")]));
        assert!(passes(
            &Method::GET,
            &[host, ("origin", "http://example.com")]
        ));
    }
}
