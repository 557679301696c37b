//! A chunk of data through a proxy: without a toxic, and with each that lets all of it through.
//!
//! The toxics do their whole work and wait for nothing (no latency, no pause, a limit that is not
//! reached): what is measured is what they cost, not what they are told to wait. It includes both
//! ends' system calls, which are the same for all but the slicer: its pieces are written one by
//! one.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toxic_proxy::{
    Attributes,
    toxics::{Latency, LimitData, Slicer},
};

use relay::Relay;

mod relay;

/// As much as the engine reads in one go.
const CHUNK: usize = 32 * 1024;

fn toxics(criterion: &mut Criterion) {
    let latency = Latency {
        latency: 0,
        jitter: 0,
    };
    let slicer = Slicer {
        average_size: 1024,
        size_variation: 512,
        delay: 0,
    };
    let limit_data = LimitData { bytes: u64::MAX };
    let data = vec![b'a'; CHUNK];
    let mut group = criterion.benchmark_group("toxics");
    group.throughput(Throughput::Bytes(CHUNK as u64));
    for (name, toxic) in [
        ("none", None),
        ("noop", Some(Attributes::Noop)),
        ("latency", Some(latency.into())),
        ("slicer", Some(slicer.into())),
        ("limit_data", Some(limit_data.into())),
    ] {
        group.bench_function(name, |bencher| {
            let mut relay = Relay::through(toxic).expect("a proxy");
            bencher.iter(|| relay.pass(&data).expect("all of it passes"));
        });
    }
    group.finish();
}

criterion_group!(benches, toxics);
criterion_main!(benches);
