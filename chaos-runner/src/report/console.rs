//! A run as it goes, on a terminal or in a log.
//!
//! Owns [`Reporter`], which is told of every [`SuiteEvent`] in order. On a terminal a bar shows
//! what is being run; elsewhere there is a plain line for each scenario that ends.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    summary::{line, summary},
    words::{counted, cut, time},
};
use crate::{
    result::{ScenarioResult, SuiteResult},
    verdict::Verdict,
};

/// What happens in a run, in order.
#[derive(Clone, Debug)]
pub enum SuiteEvent {
    /// The run begins.
    SuiteStarted {
        /// How many scenarios there are, the baseline not counted.
        count: usize,
        /// How long they should take under this client's policy.
        expected: Duration,
    },
    /// A scenario begins.
    ScenarioStarted {
        /// Its name.
        name: String,
    },
    /// A scenario is over, and judged by itself.
    ScenarioFinished {
        /// What it came to.
        result: Box<ScenarioResult>,
    },
    /// The run is over, and judged as a whole.
    SuiteFinished {
        /// What it came to.
        result: Box<SuiteResult>,
    },
}

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loudness {
    /// Only the summary, and what is not a pass.
    Quiet,
    /// A line for each scenario.
    #[default]
    Normal,
}

/// Tells people of a run as it goes.
#[derive(Debug)]
pub struct Reporter<W> {
    out: W,
    bar: ProgressBar,
    running: BTreeSet<String>,
    loudness: Loudness,
}

impl Reporter<anstream::AutoStream<io::Stdout>> {
    /// Writes to standard output, with colours where `choice` or the terminal wants them, and with
    /// a bar on standard error where that is a terminal.
    #[must_use]
    pub fn stdout(choice: anstream::ColorChoice, loudness: Loudness) -> Self {
        let mut reporter = Self::new(anstream::AutoStream::new(io::stdout(), choice), loudness);
        if io::stderr().is_terminal() && io::stdout().is_terminal() && loudness != Loudness::Quiet {
            reporter.bar = ProgressBar::new(0).with_style(style());
            reporter.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        reporter
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{bar:20} {pos}/{len} {elapsed} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl<W: Write> Reporter<W> {
    /// Writes to `out`, without a bar.
    pub fn new(out: W, loudness: Loudness) -> Self {
        Self {
            out,
            bar: ProgressBar::hidden(),
            running: BTreeSet::new(),
            loudness,
        }
    }

    /// Tells of one event.
    ///
    /// # Errors
    ///
    /// What is told cannot be written.
    pub fn tell(&mut self, event: &SuiteEvent) -> io::Result<()> {
        match event {
            SuiteEvent::SuiteStarted { count, expected } => {
                self.bar.set_length(*count as u64 + 1);
                if self.loudness == Loudness::Quiet {
                    return Ok(());
                }
                let text = format!(
                    "{} and a run without faults, about {}\n",
                    counted(*count, "scenario"),
                    time(*expected)
                );
                self.print(&text)
            }
            SuiteEvent::ScenarioStarted { name } => {
                self.running.insert(name.clone());
                self.show_running();
                Ok(())
            }
            SuiteEvent::ScenarioFinished { result } => {
                self.running.remove(&result.name);
                self.bar.inc(1);
                self.show_running();
                let dull = matches!(result.verdict, Verdict::Pass | Verdict::Skipped(_));
                if self.loudness == Loudness::Quiet && dull {
                    return Ok(());
                }
                self.print(&line(result))
            }
            SuiteEvent::SuiteFinished { result } => {
                self.bar.finish_and_clear();
                self.print(&summary(result))
            }
        }
    }

    fn show_running(&self) {
        let names: Vec<&str> = self.running.iter().map(String::as_str).collect();
        self.bar.set_message(cut(&names.join(", "), 40));
    }

    /// Writes words as they stand.
    ///
    /// # Errors
    ///
    /// They cannot be written.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        let out = &mut self.out;
        self.bar.suspend(|| {
            out.write_all(text.as_bytes())?;
            out.flush()
        })
    }

    /// Gives back what it wrote to.
    pub fn into_inner(self) -> W {
        self.out
    }
}
