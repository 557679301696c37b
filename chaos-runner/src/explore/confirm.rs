//! A failure is run again alone before it is believed.
//!
//! Owns the reruns, the explanation by a neighbour, and the scenario file that is kept.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc};

use super::{
    batch::{self, Told},
    explorer::{Explorer, Progress, Shown, blocking},
    letter::Letter,
    neighbour::neighbours,
    random::{Case, shrink},
    reading::{Came, Reading, read},
    result::KindFound,
    script::Script,
};
use crate::{
    bug_kind::BugKind,
    diagnosis::{Finding, Judged},
    history::History,
    run::{Error, directory},
};

/// How often a script is run alone.
const RUNS: u32 = 3;
/// How many scripts of a kind are tried before the kind is given up as unconfirmed.
const CANDIDATES: usize = 3;
/// How many messages go through a script at once where one alone shows nothing.
const COMPANY: usize = 8;
/// The same for what needs many samples.
const CROWD: usize = 40;

/// A kind that was seen again.
#[derive(Debug)]
pub struct Confirmed {
    /// What is kept of it.
    pub found: KindFound,
    /// What a run alone showed, with its history.
    pub proof: (Finding, Arc<History>),
}

/// Runs the smallest scripts of each kind again. Returns the kinds that came back, ordered by
/// their scripts, and those that did not.
pub(super) async fn confirm(
    explorer: &mut Explorer<'_>,
    shown: BTreeMap<BugKind, Shown>,
    drawn: BTreeMap<BugKind, (Case, u64)>,
) -> Result<(Vec<Confirmed>, Vec<KindFound>), Error> {
    let mut confirmed: Vec<Confirmed> = Vec::new();
    let mut unconfirmed = Vec::new();
    for (kind, shown) in shown {
        if explorer.labs.is_cancelled() {
            break;
        }
        match one(explorer, kind, &shown).await? {
            Some(proven) => confirmed.push(proven),
            None => unconfirmed.push(KindFound {
                severity: shown.finding.severity,
                detail: shown.finding.detail.clone(),
                ..not_seen_again(kind, shown.scripts.first(), shown.count.max(1))
            }),
        }
    }
    for (kind, (case, count)) in drawn {
        let known = confirmed.iter().any(|c| c.found.kind == kind);
        if known || explorer.labs.is_cancelled() {
            continue;
        }
        match shrunk(explorer, kind, &case, count).await? {
            Some(proven) => confirmed.push(proven),
            None => unconfirmed.push(not_seen_again(kind, case.0.first(), count)),
        }
    }
    confirmed.sort_by(|a, b| (&a.found.script, a.found.kind).cmp(&(&b.found.script, b.found.kind)));
    Ok((confirmed, unconfirmed))
}

/// A kind that did not come back.
fn not_seen_again(kind: BugKind, script: Option<&Script>, count: u64) -> KindFound {
    KindFound {
        kind,
        severity: kind.severity(),
        script: script.cloned().unwrap_or_default(),
        company: 1,
        beside: Vec::new(),
        scripts: count,
        reproduced: 0,
        runs: RUNS,
        neighbour: None,
        detail: String::new(),
        scenario: None,
        history: None,
    }
}

/// A script of which a kind may come back, and how many messages go through it.
fn candidates(kind: BugKind, shown: &Shown) -> Vec<(Script, usize)> {
    let mut all: Vec<(Script, usize)> = Vec::new();
    for script in shown.scripts.iter().take(CANDIDATES) {
        all.push((script.clone(), 1));
        if all.len() == 1 {
            all.push((script.clone(), COMPANY));
        }
    }
    if kind == BugKind::NoJitter {
        all.push((Script(vec![Letter::Unavailable]), CROWD));
    }
    all
}

async fn one(
    explorer: &mut Explorer<'_>,
    kind: BugKind,
    shown: &Shown,
) -> Result<Option<Confirmed>, Error> {
    for (script, company) in candidates(kind, shown) {
        (explorer.told)(Progress::Confirming(kind, script.clone()));
        let scripts = vec![script.clone(); company];
        let Some(proof) = prove(explorer, kind, &scripts).await? else {
            continue;
        };
        let neighbour = explain(explorer, &script, company, kind).await?;
        let scenario = save(
            explorer,
            kind,
            &scripts,
            proof.reproduced,
            neighbour.as_deref(),
        )?;
        return Ok(Some(proof.confirmed(KindFound {
            company,
            neighbour,
            scenario: Some(scenario),
            ..not_seen_again(kind, Some(&script), shown.count.max(1))
        })));
    }
    Ok(None)
}

/// Makes a case that failed as small as it can be, and runs what is left again.
async fn shrunk(
    explorer: &mut Explorer<'_>,
    kind: BugKind,
    case: &Case,
    count: u64,
) -> Result<Option<Confirmed>, Error> {
    let alphabet = explorer.settings.alphabet.clone();
    (explorer.told)(Progress::Confirming(
        kind,
        case.0.first().cloned().unwrap_or_default(),
    ));
    let runner: &Explorer<'_> = explorer;
    let shows = async |case: &Case| {
        let seen = alone(runner, &format!("{}-shrinking", kind.as_str()), &case.0).await?;
        Ok::<bool, Error>(seen.is_some_and(|(_, reading)| finding_of(&reading, kind).is_some()))
    };
    if !shows(case).await? {
        return Ok(None);
    }
    let smallest = shrink(case.clone(), &alphabet, shows).await?;
    let Some(proof) = prove(explorer, kind, &smallest.0).await? else {
        return Ok(None);
    };
    let (first, beside) = match smallest.0.as_slice() {
        [] => (Script::default(), Vec::new()),
        [first, beside @ ..] => (first.clone(), beside.to_vec()),
    };
    let neighbour = if beside.is_empty() {
        explain(explorer, &first, 1, kind).await?
    } else {
        Some("passes with a fault or a message less".into())
    };
    let scenario = save(
        explorer,
        kind,
        &smallest.0,
        proof.reproduced,
        neighbour.as_deref(),
    )?;
    Ok(Some(proof.confirmed(KindFound {
        beside,
        neighbour,
        scenario: Some(scenario),
        ..not_seen_again(kind, Some(&first), count)
    })))
}

/// What runs alone showed.
struct Proof {
    finding: Finding,
    history: Arc<History>,
    kept: PathBuf,
    reproduced: u32,
}

impl Proof {
    fn confirmed(self, found: KindFound) -> Confirmed {
        Confirmed {
            found: KindFound {
                severity: self.finding.severity,
                reproduced: self.reproduced,
                detail: self.finding.detail.clone(),
                history: Some(self.kept),
                ..found
            },
            proof: (self.finding, self.history),
        }
    }
}

/// Runs scripts alone, several times; `None`: the kind does not come back.
async fn prove(
    explorer: &Explorer<'_>,
    kind: BugKind,
    scripts: &[Script],
) -> Result<Option<Proof>, Error> {
    let mut proof: Option<Proof> = None;
    for nth in 1..=RUNS {
        let name = format!("{}-{nth}", kind.as_str());
        let Some((history, reading)) = alone(explorer, &name, scripts).await? else {
            return Ok(None);
        };
        let Some(finding) = finding_of(&reading, kind) else {
            // What does not come back at once is not run on: another script may be surer.
            if nth == 1 {
                return Ok(None);
            }
            continue;
        };
        if let Some(proof) = &mut proof {
            proof.reproduced += 1;
            continue;
        }
        directory::write_history(explorer.labs.directory(), &history)?;
        proof = Some(Proof {
            finding,
            history,
            kept: explorer.labs.directory_of(&name).join("history.json"),
            reproduced: 1,
        });
    }
    Ok(proof)
}

/// Runs scripts in a lab of their own; `None`: interrupted.
async fn alone(
    explorer: &Explorer<'_>,
    name: &str,
    scripts: &[Script],
) -> Result<Option<(Arc<History>, Reading)>, Error> {
    let settings = explorer.settings;
    let scripts = scripts.to_vec();
    let plan = batch::plan(name, &scripts, settings.timing(), settings.seed);
    // A lab begins with an empty directory, whoever had its name before.
    let work = explorer.labs.directory_of(name);
    if work.exists() {
        fs::remove_dir_all(&work).map_err(Error::io(format!("clearing {}", work.display())))?;
    }
    let Some(history) = explorer.labs.observe(Arc::new(plan)).await? else {
        return Ok(None);
    };
    let history = Arc::new(history);
    let (judged, facts, rules) = (
        Arc::clone(&history),
        Arc::clone(&explorer.facts),
        settings.rules.clone(),
    );
    let reading = blocking(move || read(&Judged::new(&judged), &scripts, &facts, &rules)).await?;
    Ok(Some((history, reading)))
}

fn finding_of(reading: &Reading, kind: BugKind) -> Option<Finding> {
    let of_each = reading.each.iter().filter_map(|one| match &one.came {
        Came::Fail(findings) => Some(findings),
        _ => None,
    });
    of_each
        .flatten()
        .chain(&reading.together)
        .find(|finding| finding.kind == kind)
        .cloned()
}

/// The nearest neighbour that passes, in words.
async fn explain(
    explorer: &mut Explorer<'_>,
    script: &Script,
    company: usize,
    kind: BugKind,
) -> Result<Option<String>, Error> {
    if company > 1 {
        return Ok(Some("passes when its message goes out alone".into()));
    }
    let around = neighbours(script, &explorer.settings.alphabet);
    let scripts = around.iter().map(|n| n.script.clone()).collect();
    let size = explorer.settings.batch;
    let seen = explorer.read_all(scripts, size).await?;
    let passes = |script: &Script| {
        seen.iter()
            .any(|one| one.script == *script && one.came == Came::Pass)
    };
    let lacks = |script: &Script| {
        seen.iter().any(|one| {
            one.script == *script
                && matches!(&one.came, Came::Fail(f) if f.iter().all(|f| f.kind != kind))
        })
    };
    let nearest = around.iter().find(|n| passes(&n.script));
    Ok(nearest.map(|n| n.explain(script)).or_else(|| {
        let other = around.iter().find(|n| lacks(&n.script))?;
        Some(format!(
            "no neighbour passes; the kind is another one {}",
            other.explain(script).trim_start_matches("passes ")
        ))
    }))
}

/// Keeps a script as a scenario file, fit to be run again and to be committed.
fn save(
    explorer: &Explorer<'_>,
    kind: BugKind,
    scripts: &[Script],
    reproduced: u32,
    neighbour: Option<&str>,
) -> Result<PathBuf, Error> {
    let settings = explorer.settings;
    let mut comments = vec![
        format!(
            "Found by chaos-runner explore {}.",
            env!("CARGO_PKG_VERSION")
        ),
        format!(
            "Client {}, seed {}, reproduced {reproduced} of {RUNS}.",
            settings.client.name, settings.seed
        ),
    ];
    comments.extend(neighbour.map(|words| format!("It {words}.")));
    let title = match scripts {
        all if all.iter().all(Script::is_empty) => {
            "Several messages at once, nothing goes wrong".to_owned()
        }
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            let parts: Vec<String> = (1..)
                .zip(&first.0)
                .map(|(attempt, letter)| format!("{attempt}: {letter}"))
                .collect();
            format!("Explored ({})", parts.join(", "))
        }
        several => {
            let parts: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!("Explored ({})", parts.join(" | "))
        }
    };
    let told = Told {
        comments: &comments,
        title: &title,
        why: kind.wrong(),
    };
    let text = batch::scenario_file(scripts, &told, settings.timing());
    let directory = explorer.labs.directory().join("failures");
    let path = directory.join(format!("{}.toml", kind.as_str()));
    fs::create_dir_all(&directory)
        .and_then(|()| fs::write(&path, text))
        .map_err(Error::io(format!("writing {}", path.display())))?;
    Ok(path)
}
