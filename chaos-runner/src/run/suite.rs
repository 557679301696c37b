//! A run: the baseline, then every scenario in a lab of its own, several at once.
//!
//! Owns the order, the parallelism and the way out (interrupted, out of time, told to stop). It
//! judges nothing but one thing: without a baseline there is nothing to compare with, which is for
//! the caller to see.

use std::{
    net::SocketAddr,
    ops::ControlFlow,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{directory, error::Error, estimate, labs::Labs};
use crate::{
    client_file::ClientFile,
    plan::Plan,
    result::{Ran, ScenarioRun},
    scenario,
};

/// What to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The client under test.
    pub client: Arc<ClientFile>,
    /// The scenarios.
    pub plans: Vec<Arc<Plan>>,
    /// The seed of the baseline and of the engine.
    pub seed: u64,
    /// How many labs at once, at least 1.
    pub jobs: usize,
    /// A real Toxiproxy server; `None`: the embedded engine.
    pub toxiproxy: Option<SocketAddr>,
    /// Below which directory the run leaves what it saw.
    pub base: PathBuf,
    /// When to stop starting scenarios.
    pub max_time: Option<Duration>,
}

/// What a run tells while it goes on.
#[derive(Clone, Debug)]
pub enum Progress {
    /// The run begins.
    Begins {
        /// How many scenarios.
        scenarios: usize,
        /// How long they should take.
        expected: Duration,
        /// The engine's name.
        engine: String,
        /// Where it leaves what it saw.
        directory: PathBuf,
    },
    /// The baseline is through.
    Baseline(ScenarioRun),
    /// A scenario begins.
    Started(Arc<Plan>),
    /// A scenario is through, or is not run.
    Finished(ScenarioRun),
}

/// Everything that a run saw.
#[derive(Debug)]
pub struct Suite {
    /// The client without faults; `None` where the run was interrupted before.
    pub baseline: Option<ScenarioRun>,
    /// Every scenario, in the order in which they were given.
    pub runs: Vec<ScenarioRun>,
    /// The engine's name.
    pub engine: String,
    /// Where everything was left.
    pub directory: PathBuf,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Why not every scenario was begun, where that is so and nobody interrupted it.
    pub stopped: Option<String>,
}

/// Runs the baseline, then every plan. `told` hears of all progress; it can stop the run after
/// the baseline or after a scenario.
///
/// # Errors
///
/// When the harness could not do its work.
pub async fn run(
    settings: &Settings,
    cancel: CancellationToken,
    told: &mut (dyn FnMut(Progress) -> ControlFlow<String> + Send),
) -> Result<Suite, Error> {
    let labs = Labs::open(
        Arc::clone(&settings.client),
        settings.seed,
        settings.toxiproxy,
        &settings.base,
        &cancel,
    )
    .await?;
    let result = scenarios(settings, &labs, told).await;
    let cleared = labs.close().await;
    let suite = result?;
    cleared?;
    Ok(suite)
}

async fn scenarios(
    settings: &Settings,
    labs: &Labs,
    told: &mut (dyn FnMut(Progress) -> ControlFlow<String> + Send),
) -> Result<Suite, Error> {
    let began = Instant::now();
    let policy = &settings.client.policy;
    let times: Vec<Duration> = settings
        .plans
        .iter()
        .map(|plan| estimate::expected(plan, policy))
        .collect();
    let mut suite = Suite {
        baseline: None,
        runs: Vec::new(),
        engine: labs.engine(),
        directory: labs.directory().to_owned(),
        interrupted: false,
        stopped: None,
    };
    let mut stop: Option<String> = broken(told(Progress::Begins {
        scenarios: settings.plans.len(),
        expected: estimate::altogether(&times, settings.jobs),
        engine: suite.engine.clone(),
        directory: suite.directory.clone(),
    }));

    let baseline = Arc::new(scenario::baseline(settings.seed));
    if let Some(run) = one(baseline, labs.clone()).await? {
        suite.baseline = Some(run.clone());
        stop = stop.or(broken(told(Progress::Baseline(run))));
    }

    // The longest first: then none of them is alone at the end.
    let mut order: Vec<usize> = (0..settings.plans.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(times[*index]));
    let mut waiting = order.into_iter();
    let mut running = JoinSet::new();
    let mut failed = None;
    let mut runs: Vec<Option<ScenarioRun>> = settings.plans.iter().map(|_| None).collect();
    loop {
        let out_of_time = settings
            .max_time
            .is_some_and(|limit| began.elapsed() >= limit);
        if out_of_time && stop.is_none() {
            stop = Some("no time was left (--max-time)".into());
        }
        while stop.is_none() && !labs.is_cancelled() && running.len() < settings.jobs.max(1) {
            let Some(index) = waiting.next() else { break };
            let plan = Arc::clone(&settings.plans[index]);
            if let Err(reason) = labs.can_run(&plan) {
                let run = not_run(&plan, Ran::Skipped(reason));
                runs[index] = Some(run.clone());
                stop = stop.or(broken(told(Progress::Finished(run))));
                continue;
            }
            stop = stop.or(broken(told(Progress::Started(Arc::clone(&plan)))));
            let labs = labs.clone();
            running.spawn(async move { (index, tokio::spawn(one(plan, labs)).await) });
        }
        let Some(joined) = running.join_next().await else {
            break;
        };
        let ended = joined
            .map_err(|error| panicked("a lab", error))
            .and_then(|(index, lab)| {
                let name = &settings.plans[index].name;
                Ok((index, lab.map_err(|error| panicked(name, error))??))
            });
        match ended {
            Ok((index, Some(run))) => {
                runs[index] = Some(run.clone());
                stop = stop.or(broken(told(Progress::Finished(run))));
            }
            Ok((_, None)) => {}
            Err(error) => {
                // The other labs put everything back before the run ends.
                labs.stop();
                failed.get_or_insert(error);
            }
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    suite.interrupted = labs.is_cancelled();
    if runs.iter().any(Option::is_none) {
        suite.stopped.clone_from(&stop);
    }
    let why = stop.unwrap_or_else(|| "the run was interrupted".into());
    let missing = |plan: &Arc<Plan>| not_run(plan, Ran::Broken(why.clone()));
    suite.runs = settings
        .plans
        .iter()
        .zip(runs)
        .map(|(plan, run)| run.unwrap_or_else(|| missing(plan)))
        .collect();
    Ok(suite)
}

/// Runs one scenario and writes its history; nothing comes of it when it is interrupted.
async fn one(plan: Arc<Plan>, labs: Labs) -> Result<Option<ScenarioRun>, Error> {
    let began = Instant::now();
    let Some(history) = labs.observe(Arc::clone(&plan)).await? else {
        return Ok(None);
    };
    let history = Arc::new(history);
    let (run, written) = (labs.directory().to_owned(), Arc::clone(&history));
    // Not on the runtime: the labs go on meanwhile.
    tokio::task::spawn_blocking(move || directory::write_history(&run, &written))
        .await
        .map_err(|error| panicked(&plan.name, error))??;
    Ok(Some(ScenarioRun {
        duration: began.elapsed(),
        directory: Some(labs.directory_of(&plan.name)),
        ..not_run(&plan, Ran::Observed(history))
    }))
}

fn not_run(plan: &Plan, ran: Ran) -> ScenarioRun {
    ScenarioRun {
        name: plan.name.clone(),
        title: plan.title.clone(),
        file: plan.file.clone(),
        ran,
        duration: Duration::ZERO,
        directory: None,
    }
}

fn broken(flow: ControlFlow<String>) -> Option<String> {
    match flow {
        ControlFlow::Continue(()) => None,
        ControlFlow::Break(why) => Some(why),
    }
}

fn panicked(scenario: &str, error: tokio::task::JoinError) -> Error {
    let what = if error.is_panic() {
        let payload = error.into_panic();
        payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| {
                payload
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
            })
            .unwrap_or_else(|| "a panic without words".into())
    } else {
        "it was cancelled".into()
    };
    Error::Panic {
        scenario: scenario.to_owned(),
        what,
    }
}
