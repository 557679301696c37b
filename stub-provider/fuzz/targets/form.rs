//! The reader of form-encoded bodies: it never fails, and undoes what an encoder did.

#![no_main]

use std::fmt::Write as _;

use hyper::HeaderMap;
use libfuzzer_sys::fuzz_target;
use stub_provider::place::{self, Content, Place};

fn content<'a>(headers: &'a HeaderMap, body: &'a [u8]) -> Content<'a> {
    Content {
        headers,
        query: "",
        body,
        element: 0,
    }
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        let _ = write!(out, "%{byte:02x}");
    }
    out
}

fuzz_target!(|data: &[u8]| {
    let to = Place::Form("To".into());
    let body = Place::Form("Body".into());
    let headers = HeaderMap::new();
    // Any bytes at all.
    let _ = place::read([&to, &body], &content(&headers, data));
    // What an encoder wrote is read back.
    if let Ok(text) = std::str::from_utf8(data) {
        let form = format!("To=1&Body={}&Else=2", encoded(text));
        let found = place::read([&to, &body], &content(&headers, form.as_bytes()));
        assert_eq!(found, [Some("1".into()), Some(text.to_owned())]);
    }
});
