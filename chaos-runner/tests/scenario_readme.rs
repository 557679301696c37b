//! What the guide for authors shows is what the reader takes.

use std::{fs, path::Path};

use chaos_runner::scenario;

fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut inside: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_start();
        match (&mut inside, line) {
            (None, "```toml") => inside = Some(String::new()),
            (Some(block), "```") => {
                blocks.push(std::mem::take(block));
                inside = None;
            }
            (Some(block), line) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

#[test]
fn every_example_of_the_guide_is_a_valid_scenario() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/README.md");
    let text = fs::read_to_string(guide).expect("the guide for authors");
    let blocks = blocks(&text);
    assert!(blocks.len() >= 4, "the guide has examples");
    for block in blocks {
        let whole = if block.contains("title") {
            block
        } else {
            format!("title = \"a\"\nwhy = \"b\"\n{block}")
        };
        if let Err(error) = scenario::load(&whole, "README.md") {
            panic!("{}", error.report(false));
        }
    }
}
