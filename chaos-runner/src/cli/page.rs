//! What a run leaves for people to look at: the page, and a diagram of each finding.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::Path,
};

use crate::{
    explore::result::Exploration,
    history::view::View,
    report::{
        html::{self, Sources},
        sequence::Sequence,
        svg,
    },
    result::{ScenarioResult, SuiteResult},
    scenario::Scenario,
    suite,
};

/// The page's name in the directory of a run.
pub(super) const FILE: &str = "report.html";

/// A file that cannot be written, and why.
type Unwritten = (String, io::Error);

/// Writes the page into a run's directory, and the diagrams beside the histories.
pub(super) fn leave(
    directory: &Path,
    result: &SuiteResult,
    sources: &Sources,
) -> Result<(), Unwritten> {
    let path = directory.join(FILE);
    write(&path, result, sources).map_err(|error| (path.display().to_string(), error))?;
    result.all().try_for_each(draw)
}

/// Writes the page of a run.
pub(super) fn write(path: &Path, result: &SuiteResult, sources: &Sources) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    html::write(&mut file, result, sources)?;
    file.flush()
}

/// Writes the page of an exploration.
pub(super) fn write_exploration(
    path: &Path,
    explored: &Exploration,
    verdicts: &[String],
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    html::write_exploration(&mut file, explored, verdicts)?;
    file.flush()
}

fn draw(scenario: &ScenarioResult) -> Result<(), Unwritten> {
    let (Some(history), Some(directory)) = (&scenario.history, &scenario.directory) else {
        return Ok(());
    };
    if scenario.findings.is_empty() {
        return Ok(());
    }
    let view = View::new(history);
    for finding in &scenario.findings {
        let path = directory.join(format!("{}.svg", finding.kind));
        let drawn = svg::document(scenario, finding, &Sequence::of(&view, finding));
        fs::write(&path, drawn).map_err(|error| (path.display().to_string(), error))?;
    }
    Ok(())
}

/// The texts of the scenarios' files. One that has gone since it was read is not shown.
pub(super) fn sources(scenarios: &[Scenario]) -> Sources {
    texts(scenarios.iter().map(|s| (&*s.name, s.file.as_deref())))
}

/// The same for what was run on another day.
pub(super) fn sources_of(result: &SuiteResult) -> Sources {
    texts(result.all().map(|s| (&*s.name, s.file.as_deref())))
}

fn texts<'a>(scenarios: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Sources {
    let mut sources = Sources::new();
    for (name, file) in scenarios {
        let stem = name.split('[').next().unwrap_or(name);
        let name = file.unwrap_or(stem);
        if !sources.contains_key(name)
            && let Ok(text) = suite::source(name)
        {
            sources.insert(name.to_owned(), text);
        }
    }
    sources
}
