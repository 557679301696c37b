//! [`Target`]: where the provider is.
//!
//! Owns reading its URL, and whether it is this machine.

use std::{net::IpAddr, str::FromStr};

/// The address of a provider, or of a page of its own beside the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whether TLS is spoken.
    pub tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Host and port as a `Host` header has them.
    pub authority: String,
    /// What stands before every path, without a slash at its end.
    pub prefix: String,
}

impl Target {
    /// Whether it is this machine. A name other than `localhost` is not taken for it: what it
    /// stands for is known only to who asks.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self
                .host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    /// The URL as it was meant.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.prefix)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}` {why}: write a URL, as in http://127.0.0.1:9090");
        let uri: hyper::Uri = text.parse().map_err(|_| wrong("is not a URL"))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("is neither http:// nor https://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("names no host"))?;
        if authority.as_str().contains('@') {
            return Err("a URL with a password in it is not taken: use --customer".to_owned());
        }
        if uri.query().is_some() {
            return Err(wrong("has a query, which no path can follow"));
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        if host.is_empty() {
            return Err(wrong("names no host"));
        }
        Ok(Self {
            tls,
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        for (url, here) in [
            ("http://127.0.0.1:9090", true),
            ("http://localhost", true),
            ("http://[::1]:8080/", true),
            ("http://127.1.2.3", true),
            ("https://api.example.com/base/", false),
            ("http://192.0.2.1", false),
            ("http://localhost.example.com", false),
        ] {
            let target: Target = url.parse().expect(url);
            assert_eq!(target.is_loopback(), here, "{url}");
        }
    }

    #[test]
    fn a_url_is_taken_apart() {
        let target: Target = "https://api.example.com/base/".parse().expect("a URL");
        assert_eq!((target.port, target.prefix.as_str()), (443, "/base"));
        assert_eq!(target.url(), "https://api.example.com/base");
        let target: Target = "http://[::1]:8080".parse().expect("a URL");
        assert_eq!((target.host.as_str(), target.port), ("::1", 8080));
    }

    #[test]
    fn what_is_no_address_of_a_provider_is_refused() {
        for (url, says) in [
            ("127.0.0.1:9090", "http://"),
            ("ftp://127.0.0.1", "http://"),
            ("http://a:b@127.0.0.1", "--customer"),
            ("http://127.0.0.1/?a=b", "query"),
            ("", "URL"),
        ] {
            let error = url.parse::<Target>().expect_err(url);
            assert!(error.contains(says), "{error}");
        }
    }
}
