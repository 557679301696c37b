//! Embeds the standard suite: every file in `scenarios/`, by name, in the order of names.

use std::{env, ffi::OsStr, fmt::Write as _, fs, path::Path};

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate's directory");
    let scenarios = Path::new(&manifest).join("../scenarios");
    println!("cargo::rerun-if-changed={}", scenarios.display());
    let mut files: Vec<_> = fs::read_dir(&scenarios)
        .expect("the repository has a directory of scenarios")
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    let mut list = String::from("[\n");
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().and_then(OsStr::to_str);
        let name = name.expect("a scenario's name is plain text");
        let file = file.to_str().expect("the repository's path is text");
        // The debug notation of a text is Rust's own.
        writeln!(list, "    ({name:?}, include_str!({file:?})),").expect("writing to a text");
    }
    list.push_str("]\n");
    let out = env::var("OUT_DIR").expect("cargo names the output directory");
    fs::write(Path::new(&out).join("suite.rs"), list).expect("the list can be written");
}
