//! Where a run leaves what it saw: `target/chaos/<time>/<scenario>/`, and `latest`.
//!
//! Owns names and links on disk. What stands in the files is the histories' and the reports'.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::{Timestamp, tz::TimeZone};

use super::error::Error;
use crate::history::History;

/// Makes the directory of a run that begins now below `base`, and points `latest` at it.
///
/// # Errors
///
/// When it cannot be made.
pub fn create(base: &Path, now: Timestamp) -> Result<PathBuf, Error> {
    fs::create_dir_all(base).map_err(Error::io(format!("creating {}", base.display())))?;
    let base = fs::canonicalize(base).map_err(Error::io(format!("finding {}", base.display())))?;
    let time = now
        .to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%dT%H-%M-%SZ")
        .to_string();
    for nth in 1_u32.. {
        let name = if nth == 1 {
            time.clone()
        } else {
            format!("{time}-{nth}")
        };
        let directory = base.join(&name);
        match fs::create_dir(&directory) {
            Ok(()) => {
                link_latest(&base, &name).map_err(Error::io(format!(
                    "linking {}",
                    base.join("latest").display()
                )))?;
                return Ok(directory);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => {
                let doing = format!("creating {}", directory.display());
                return Err(Error::Io { doing, source });
            }
        }
    }
    unreachable!("one of the names is free")
}

/// Replaces the link in one step, so that a reader never finds it missing.
fn link_latest(base: &Path, name: &str) -> io::Result<()> {
    let next = base.join(format!(".latest-{}", std::process::id()));
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::os::unix::fs::symlink(name, &next)?;
    fs::rename(&next, base.join("latest"))
}

/// The directory of one scenario in that of a run.
#[must_use]
pub fn of_scenario(run: &Path, scenario: &str) -> PathBuf {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.=,[]".contains(c) {
            c
        } else {
            '_'
        }
    };
    run.join(scenario.chars().map(plain).collect::<String>())
}

/// Writes a history where `recheck` and people look for it.
///
/// # Errors
///
/// When it cannot be written.
pub fn write_history(run: &Path, history: &History) -> Result<(), Error> {
    let path = of_scenario(run, &history.scenario).join("history.json");
    let doing = format!("writing {}", path.display());
    let text = serde_json::to_vec_pretty(history).map_err(|error| Error::Io {
        doing: doing.clone(),
        source: error.into(),
    })?;
    fs::write(&path, text).map_err(Error::io(doing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_in_one_second_have_directories_of_their_own_and_latest_is_the_second() {
        let base = tempfile::tempdir().expect("a directory");
        let now = Timestamp::from_second(1_800_000_000).expect("a time");
        let first = create(base.path(), now).expect("the first");
        let second = create(base.path(), now).expect("the second");
        assert_ne!(first, second);
        let latest = fs::canonicalize(base.path().join("latest")).expect("a link");
        assert_eq!(latest, second);
    }

    #[test]
    fn a_scenario_cannot_name_a_directory_outside_its_run() {
        let run = Path::new("/run");
        assert_eq!(
            of_scenario(run, "a/../../b[status=503]"),
            run.join("a_.._.._b[status=503]")
        );
    }
}
