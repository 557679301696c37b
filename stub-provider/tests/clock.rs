//! Nothing in the provider reads another clock than its own.

use std::{fs, path::Path};

/// Where real time is read, and why that is right.
const REAL: &[(&str, &str)] = &[
    ("clock.rs", "the clock itself"),
    ("event.rs", "an event's own time, which nobody can advance"),
    (
        "observers.rs",
        "an event's own time, which nobody can advance",
    ),
    ("wire.rs", "how long a socket takes over a request"),
    (
        "server.rs",
        "looking at sockets: slow ones, a taken port, the end",
    ),
    (
        "webhook.rs",
        "how long a socket takes over an acknowledgement",
    ),
    (
        "store/disk.rs",
        "the system's time, kept beside the clock's",
    ),
    (
        "store/queue.rs",
        "how long a commit waits for more to share it",
    ),
    (
        "store/shared/mod.rs",
        "how long a database may take for the first connection",
    ),
    ("admin/inbox.rs", "how often a page that watches is told"),
    ("admin/show.rs", "how long a caller of the admin API waits"),
];

fn sources(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn real_time_is_read_only_where_it_is_meant() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut reading: Vec<String> = files
        .iter()
        .filter(|path| {
            let text = fs::read_to_string(path).expect("readable");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            [
                "Instant",
                "SystemTime",
                "tokio::time",
                "Timestamp::now",
                "Zoned::now",
            ]
            .iter()
            .any(|clock| code.contains(clock))
        })
        .map(|path| {
            let name = path.strip_prefix(&src).expect("below it");
            name.to_string_lossy().into_owned()
        })
        .collect();
    reading.sort();
    let mut meant: Vec<&str> = REAL.iter().map(|(file, _)| *file).collect();
    meant.sort_unstable();
    assert_eq!(reading, meant, "say here why a file reads real time");
}
