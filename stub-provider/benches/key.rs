//! Reading a key out of the `Idempotency-Key` header, in each form that a profile may want.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use stub_provider::Profile;

const BARE: &str = "8e03978e-40d5-43e8-bc93-6894a57f9326";
const QUOTED: &str = r#""8e03978e-40d5-43e8-bc93-6894a57f9326""#;
const ESCAPED: &str = r#""8e03978e\\40d5\"43e8""#;

fn key(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("key");
    for (name, profile, written) in [
        ("either, bare", "v1", BARE),
        ("either, quoted", "v1", QUOTED),
        ("quoted", "ietf", QUOTED),
        ("quoted, escaped", "ietf", ESCAPED),
        ("bare", "stripe", BARE),
    ] {
        let profile = Profile::builtin(profile).expect("a built-in profile");
        group.bench_function(name, |bencher| {
            bencher.iter(|| profile.read_key(black_box(written)));
        });
    }
    group.finish();
}

criterion_group!(benches, key);
criterion_main!(benches);
