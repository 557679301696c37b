//! `run`, carried out: runs, judges, reports, and says how the program ends.
//!
//! Owns the way from [`RunOptions`] to an exit code. It is the only place that knows the run, the
//! judgement and the reports at once.

use std::{
    env,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    net::{SocketAddr, ToSocketAddrs as _},
    ops::ControlFlow,
    path::Path,
    sync::Arc,
    time::Instant,
};

use jiff::Zoned;

use super::{RunOptions, Toxiproxy, Verbosity, page};
use crate::{
    exit_code::ExitCode,
    history::History,
    judgement::{judge_alone, judge_suite},
    kept::{self, Kept, KeptRun},
    report::{
        console::{Loudness, Reporter, SuiteEvent},
        github, json, junit,
    },
    result::{Ran, Rules, ScenarioRun, SuiteResult},
    run::{
        Error, interrupt,
        suite::{self, Progress, Settings, Suite},
    },
    verdict::Verdict,
};

/// Why a run came to no judgement.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// What was asked for makes no sense; nothing ran.
    #[error("{0}")]
    Usage(String),
    /// The harness could not do its work.
    #[error(transparent)]
    Harness(#[from] Error),
    /// A report could not be written.
    #[error("the report {0} cannot be written: {1}")]
    Report(String, io::Error),
}

impl RunOptions {
    /// Runs the scenarios, tells of them, and says how the program ends.
    #[must_use]
    pub fn execute(self) -> ExitCode {
        match self.try_execute() {
            Ok(code) => code,
            Err(failure) => {
                anstream::eprintln!("error: {failure}");
                match failure {
                    Failure::Usage(_) => ExitCode::Usage,
                    Failure::Harness(_) | Failure::Report(..) => ExitCode::Harness,
                }
            }
        }
    }

    fn try_execute(self) -> Result<ExitCode, Failure> {
        let rules = self.rules();
        let settings = self.settings()?;
        if settings.plans.is_empty() {
            anstream::eprintln!("nothing ran: no scenario was selected");
            return Ok(ExitCode::NothingRan);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(Error::io("starting the runtime"))?;
        let began = Instant::now();
        let mut teller = Teller {
            reporter: Reporter::stdout(anstream::ColorChoice::global(), self.loudness()),
            rules: &rules,
            baseline: None,
            fail_fast: self.fail_fast,
            failed: None,
        };
        let suite = runtime.block_on(async {
            let cancel = interrupt::token()?;
            suite::run(&settings, cancel, &mut |progress| teller.hear(progress)).await
        })?;
        let Some(baseline) = &suite.baseline else {
            anstream::eprintln!("interrupted before anything was learned");
            return Ok(ExitCode::Interrupted);
        };
        let mut result = judge_suite(baseline, &suite.runs, &rules);
        result.client_words.clone_from(&self.client_words);
        result.duration = began.elapsed();
        result.interrupted = suite.interrupted;
        self.write_reports(&result, &suite)?;
        let code = result.exit_code();
        let last_words = self.last_words(&result, &suite, code);
        teller.finish(result, &last_words)?;
        if let Some(why) = &suite.stopped {
            anstream::eprintln!("not every scenario was run: {why}");
        }
        Ok(code)
    }

    /// The run as `merge` and `recheck` read it.
    fn kept(&self, suite: &Suite) -> Kept {
        let runs = suite.baseline.iter().chain(&suite.runs);
        Kept {
            run_format: kept::FORMAT,
            tool: env!("CARGO_PKG_VERSION").into(),
            client: self.client.name.clone(),
            client_words: self.client_words.clone(),
            seed: self.seed,
            shard: self.shard,
            min_severity: self.min_severity,
            known: self
                .client
                .known
                .iter()
                .map(|(id, known)| (id.clone(), known.into()))
                .collect(),
            interrupted: suite.interrupted,
            runs: runs.map(|run| KeptRun::of(run, &suite.directory)).collect(),
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            known: self.client.known.clone(),
            min_severity: self.min_severity,
            ..Rules::strict(Zoned::now().date())
        }
    }

    fn settings(&self) -> Result<Settings, Failure> {
        Ok(Settings {
            client: Arc::new(self.client.clone()),
            plans: self
                .scenarios
                .iter()
                .map(|s| Arc::new(s.plan(self.seed)))
                .collect(),
            seed: self.seed,
            jobs: self.jobs.get(),
            toxiproxy: self.toxiproxy.as_ref().map(resolve).transpose()?,
            base: self.report.clone(),
            max_time: self.max_time,
        })
    }

    fn loudness(&self) -> Loudness {
        if self.verbosity == Verbosity::Quiet {
            Loudness::Quiet
        } else {
            Loudness::Normal
        }
    }

    /// What stands below the summary: where to look, how often a failure came back, and what a
    /// GitHub step is told.
    fn last_words(&self, result: &SuiteResult, suite: &Suite, code: ExitCode) -> String {
        let mut said = String::new();
        if code != ExitCode::Pass {
            let page = suite.directory.join(page::FILE);
            let _ = writeln!(said, "Look at {}", page.display());
        }
        if self.replay {
            let (failed, of) = (result.count("fail"), result.scenarios.len());
            let _ = writeln!(said, "reproduced {failed} of {of}");
        }
        if on_github() {
            said += &github::annotations(result);
        }
        said
    }

    fn write_reports(&self, result: &SuiteResult, suite: &Suite) -> Result<(), Failure> {
        let document = json::document(result).to_string();
        write(&suite.directory.join("report.json"), &document)?;
        let kept = serde_json::to_string_pretty(&self.kept(suite))
            .map_err(|error| Failure::Report(kept::FILE.into(), error.into()))?;
        write(&suite.directory.join(kept::FILE), &kept)?;
        page::leave(&suite.directory, result, &page::sources(&self.scenarios))
            .map_err(|(path, error)| Failure::Report(path, error))?;
        if let Some(path) = &self.files.json {
            write(path, &document)?;
        }
        if let Some(path) = &self.files.junit {
            let text = junit::document(result).map_err(|error| {
                Failure::Report(path.display().to_string(), io::Error::other(error))
            })?;
            write(path, &text)?;
        }
        if let Some(path) = on_github()
            .then(|| env::var_os("GITHUB_STEP_SUMMARY"))
            .flatten()
        {
            append(Path::new(&path), &github::step_summary(result))?;
        }
        Ok(())
    }
}

/// Whether this is a step of a GitHub workflow.
fn on_github() -> bool {
    env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Passes what the run tells on to the reporter, and decides whether it goes on.
struct Teller<'a> {
    reporter: Reporter<anstream::AutoStream<io::Stdout>>,
    rules: &'a Rules,
    baseline: Option<Arc<History>>,
    fail_fast: bool,
    failed: Option<io::Error>,
}

impl Teller<'_> {
    fn hear(&mut self, progress: Progress) -> ControlFlow<String> {
        match progress {
            Progress::Begins {
                scenarios,
                expected,
                ..
            } => {
                self.tell(&SuiteEvent::SuiteStarted {
                    count: scenarios,
                    expected,
                });
            }
            Progress::Started(plan) => {
                self.tell(&SuiteEvent::ScenarioStarted {
                    name: plan.name.clone(),
                });
            }
            Progress::Baseline(run) => {
                let verdict = self.tell_finished(&run);
                if let Ran::Observed(history) = run.ran {
                    self.baseline = Some(history);
                }
                if verdict != Verdict::Pass {
                    return ControlFlow::Break("the client fails without any fault".into());
                }
            }
            Progress::Finished(run) => {
                if self.tell_finished(&run) == Verdict::Fail && self.fail_fast {
                    return ControlFlow::Break(format!("{} failed (--fail-fast)", run.name));
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn tell_finished(&mut self, run: &ScenarioRun) -> Verdict {
        let result = judge_alone(run, self.baseline.as_deref(), self.rules);
        let verdict = result.verdict.clone();
        self.tell(&SuiteEvent::ScenarioFinished {
            result: Box::new(result),
        });
        verdict
    }

    /// A reader who has gone away does not end the run; what cannot be written is said at the
    /// end.
    fn tell(&mut self, event: &SuiteEvent) {
        if let Err(error) = self.reporter.tell(event) {
            self.failed.get_or_insert(error);
        }
    }

    fn finish(mut self, result: SuiteResult, last_words: &str) -> Result<(), Failure> {
        self.tell(&SuiteEvent::SuiteFinished {
            result: Box::new(result),
        });
        if let Err(error) = self.reporter.print(last_words) {
            self.failed.get_or_insert(error);
        }
        match self.failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::Report("on standard output".into(), error))
            }
            _ => Ok(()),
        }
    }
}

fn resolve(server: &Toxiproxy) -> Result<SocketAddr, Failure> {
    let Toxiproxy { host, port } = server;
    let cannot = |why: String| Failure::Usage(format!("--toxiproxy {host}:{port}: {why}"));
    let found = (host.as_str(), *port)
        .to_socket_addrs()
        .map_err(|error| cannot(error.to_string()))?;
    let addrs: Vec<SocketAddr> = found.collect();
    // Toxiproxy listens on 127.0.0.1 where it is told `localhost`.
    addrs
        .iter()
        .find(|addr| addr.is_ipv4())
        .or(addrs.first())
        .copied()
        .ok_or_else(|| cannot("the name has no address".into()))
}

/// Other commands of the step may have written there before.
fn append(path: &Path, text: &str) -> Result<(), Failure> {
    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::Report(path.display().to_string(), error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::Report(path.display().to_string(), error))
}
