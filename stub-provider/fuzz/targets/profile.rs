//! The profile loader: a profile or a diagnostic, never a failure; and what is said of a wrong one
//! can be shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stub_provider::Profile;

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else {
        return;
    };
    match Profile::parse(source, "fuzzed.toml") {
        Ok(profile) => assert!(profile.submit_path().starts_with('/')),
        Err(error) => {
            assert!(!error.message().is_empty());
            let _ = error.report(false);
        }
    }
});
