//! What judging costs against the size of a history: its index, every check over it, and the
//! judgement with all of both.

use std::sync::Arc;

use chaos_judge::{
    checks::observe,
    history::view::View,
    judgement::judge_alone,
    result::{Rules, ScenarioRun},
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use jiff::civil::date;

mod run;

fn checks(criterion: &mut Criterion) {
    let rules = Rules::strict(date(2026, 11, 30));
    for messages in [1_000, 10_000, 100_000] {
        let history = Arc::new(run::history(messages));
        let mut group = criterion.benchmark_group("checks");
        group.sample_size(10);
        group.throughput(Throughput::Elements(messages as u64));
        group.bench_function(BenchmarkId::new("index", messages), |bencher| {
            bencher.iter(|| View::new(&history));
        });
        let view = View::new(&history);
        assert_eq!(observe(&view), (Vec::new(), Vec::new()), "a decent client");
        group.bench_function(BenchmarkId::new("observe", messages), |bencher| {
            bencher.iter(|| observe(&view));
        });
        let run = ScenarioRun::of(Arc::clone(&history));
        group.bench_function(BenchmarkId::new("judge", messages), |bencher| {
            bencher.iter(|| judge_alone(&run, None, &rules));
        });
        group.finish();
    }
}

criterion_group!(benches, checks);
criterion_main!(benches);
