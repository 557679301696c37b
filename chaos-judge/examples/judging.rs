//! How long the judgement of a history takes, its index included: `judging EVENTS…` prints, for
//! each, how many events the history has and the milliseconds.

use std::{error::Error, sync::Arc, time::Instant};

use chaos_judge::{
    judgement::judge_alone,
    result::{Rules, ScenarioRun},
};
use jiff::civil::date;

#[path = "../benches/run/mod.rs"]
mod run;

/// How many events a history has is found out with one of so many messages.
const SAMPLE: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let rules = Rules::strict(date(2026, 11, 30));
    let sample = run::history(SAMPLE).events.len();
    for wanted in std::env::args().skip(1) {
        let wanted: usize = wanted.parse()?;
        let history = Arc::new(run::history((wanted * SAMPLE).div_ceil(sample)));
        let events = history.events.len();
        let run = ScenarioRun::of(history);
        let began = Instant::now();
        let judged = judge_alone(&run, None, &rules);
        let took = began.elapsed();
        assert!(judged.findings.is_empty(), "a decent client");
        println!("{events} {:.3}", took.as_secs_f64() * 1000.0);
    }
    Ok(())
}
