//! `show`: a scenario as it is written, or what becomes of it.

use std::io::{self, Write};

use clap::Args;

use super::CommandError;
use crate::{
    plan::{Place, Plan},
    suite,
};

/// What can be typed after `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A file, or a name in the standard suite.
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,
    /// Print the plan: every message and every fault, resolved.
    #[arg(long)]
    pub plan: bool,
    /// The seed of the plan.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "plan")]
    pub seed: u64,
}

impl ShowArgs {
    /// Prints the scenario.
    ///
    /// # Errors
    ///
    /// A name or a file that is wrong; an output that cannot be written.
    pub fn run(&self) -> Result<(), CommandError> {
        let mut out = anstream::AutoStream::auto(io::stdout().lock());
        if self.plan {
            let scenarios = suite::select(std::slice::from_ref(&self.scenario), &[])?;
            for (at, scenario) in scenarios.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                write_plan(&mut out, &scenario.plan(self.seed))?;
            }
        } else {
            write!(out, "{}", suite::source(&self.scenario)?)?;
        }
        out.flush()?;
        Ok(())
    }
}

fn write_plan(out: &mut impl Write, plan: &Plan) -> io::Result<()> {
    writeln!(out, "{}", plan.name)?;
    writeln!(out, "  {}", plan.title)?;
    writeln!(out, "  {}", plan.why)?;
    let needs: Vec<String> = plan.needs.iter().map(word).collect();
    if !needs.is_empty() {
        writeln!(out, "  needs {}", needs.join(", "))?;
    }
    for intent in &plan.intents {
        write!(
            out,
            "  message {}: {} \"{}\"",
            intent.number, intent.to, intent.body
        )?;
        write!(out, " for {}", intent.customer)?;
        if let Some(key) = &intent.key {
            write!(out, " under the key {key}")?;
        }
        if let Some(after) = intent.expires_after {
            write!(out, ", of use for {after:?}")?;
        }
        writeln!(out)?;
    }
    for fault in &plan.faults {
        let place = match &fault.place {
            Place::Attempts(attempts) => format!("attempt {attempts}"),
            Place::Connection(number) => format!("connection {number}"),
        };
        writeln!(
            out,
            "  fault {} at {place}, line {}: {}",
            fault.id, fault.line, fault.text
        )?;
    }
    Ok(())
}

/// The word that files use.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
