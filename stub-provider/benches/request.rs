//! One request from the client's write to the answer's last byte, over the loopback interface.

use criterion::{Criterion, criterion_group, criterion_main};

use client::Client;

mod client;

fn request(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("request");
    group.bench_function("new key", |bencher| {
        let mut client = Client::new().expect("a provider");
        let mut number = 0_u64;
        bencher.iter(|| {
            number += 1;
            client.submit(&format!("otp-{number}")).expect("accepted");
        });
    });
    group.bench_function("replay", |bencher| {
        let mut client = Client::new().expect("a provider");
        client.submit("otp-1").expect("accepted");
        bencher.iter(|| client.submit("otp-1").expect("replayed"));
    });
    group.finish();
}

criterion_group!(benches, request);
criterion_main!(benches);
