//! The key parser: whatever the bytes of the header are, under every profile.

#![no_main]

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};
use libfuzzer_sys::fuzz_target;
use stub_provider::{
    Profile,
    ledger::KeyId,
    place::{self, Content, Place},
};

fuzz_target!(|data: &[u8]| {
    let Ok(value) = HeaderValue::from_bytes(data) else {
        return;
    };
    let name = HeaderName::from_static("idempotency-key");
    let mut headers = HeaderMap::new();
    headers.insert(name.clone(), value);
    let content = Content {
        headers: &headers,
        query: "",
        body: b"",
        element: 0,
    };
    let [key] = place::read([&Place::Header(name)], &content);
    let Some(written) = key else {
        return;
    };
    for profile in Profile::names().filter_map(Profile::builtin) {
        match profile.read_key(&written) {
            Ok(Some(key)) => {
                let (least, most) = profile.key_lengths();
                assert!((least..=most).contains(&key.len()));
                let _ = KeyId::new(&written, &key);
            }
            Ok(None) => {}
            Err(why) => assert!(!why.is_empty()),
        }
    }
    // A quoted key and the same key bare are one key.
    let key = place::unquote(&written);
    if !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\') {
        assert_eq!(place::unquote(&format!("\"{key}\"")), key);
    }
});
