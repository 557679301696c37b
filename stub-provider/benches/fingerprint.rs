//! The digest that a key is bound to, for a short message and for the longest body.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use stub_provider::{Limits, fingerprint::Fingerprint};

fn fingerprint(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fingerprint");
    for size in [64, 1024, Limits::default().body_bytes] {
        let body = vec![b'a'; size];
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &body, |bencher, body| {
            bencher.iter(|| Fingerprint::of("POST", "/v1/messages", black_box(body)));
        });
    }
    group.finish();
}

criterion_group!(benches, fingerprint);
criterion_main!(benches);
