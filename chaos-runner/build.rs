//! Embeds the standard suite: every file in `scenarios/`, by name, in the order of names.

use std::{env, fmt::Write as _, fs, path::Path};

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
        let name = file.file_name().expect("a file has a name");
        // Debug notation of a path is Rust's notation of a text.
        writeln!(list, "    ({name:?}, include_str!({file:?})),").expect("writing to a text");
        println!("cargo::rerun-if-changed={}", file.display());
    }
    list.push_str("]\n");
    let out = env::var("OUT_DIR").expect("cargo names the output directory");
    fs::write(Path::new(&out).join("suite.rs"), list).expect("the list can be written");
}
