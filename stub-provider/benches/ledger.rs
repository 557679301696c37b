//! What the ledger does for one request: under a key that is new, and under one that was answered.

use std::{hint::black_box, sync::Arc, time::Duration};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use stub_provider::{
    fingerprint::Fingerprint,
    ledger::{Claim, KeyId, Ledger},
    message::MessageId,
};

/// Keys in one go: a ledger that only grows must be a new one from time to time.
const KEYS: u64 = 10_000;
const RETENTION: Duration = Duration::from_hours(24);

type Answers = Ledger<Arc<str>>;

fn accept(ledger: &Answers, number: u64, of: Fingerprint, answer: &Arc<str>) {
    let key = KeyId::new("default", &format!("otp-{number}"));
    let (nth, claim) = ledger.arrive(&key, of, number, None, Duration::ZERO);
    assert_eq!((nth, claim), (1, Claim::Won));
    let message = Some(MessageId(number));
    ledger.settle(&key, number, Some(answer.clone()), message, Duration::ZERO);
}

fn ledger(criterion: &mut Criterion) {
    let of = Fingerprint::of("POST", "/v1/messages", b"{}");
    let answer: Arc<str> = "{}".into();
    let mut group = criterion.benchmark_group("ledger");

    group.throughput(Throughput::Elements(KEYS));
    group.bench_function("accept", |bencher| {
        bencher.iter_batched_ref(
            || Answers::new(RETENTION),
            |ledger| {
                for number in 1..=KEYS {
                    accept(ledger, number, of, &answer);
                }
            },
            BatchSize::PerIteration,
        );
    });

    group.throughput(Throughput::Elements(1));
    group.bench_function("replay", |bencher| {
        let ledger = Answers::new(RETENTION);
        for number in 1..=KEYS {
            accept(&ledger, number, of, &answer);
        }
        let mut number = 0;
        bencher.iter(|| {
            number = number % KEYS + 1;
            let key = KeyId::new("default", &format!("otp-{number}"));
            black_box(ledger.arrive(&key, of, KEYS + number, None, Duration::ZERO))
        });
    });
    group.finish();
}

criterion_group!(benches, ledger);
criterion_main!(benches);
