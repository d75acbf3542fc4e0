//! Prints the text that a model gets about the skills in a folder.
//!
//!     cargo run -p quillet-agent --example skills -- FOLDER [NAME…]
//!
//! The output is the diagnostics, then the result of loading each NAME, then the skills section of
//! the system prompt.

use std::path::Path;

use quillet_agent::Skills;
use quillet_agent::skills::{self, LoadedSkills};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| ".".to_owned());
    let (found, diagnostics) = skills::read_folder(Path::new(&folder));
    for diagnostic in diagnostics {
        println!("{diagnostic}");
    }
    let available = found.into_iter().map(|skill| skill.into_skill(Vec::new()));
    let mut loaded = LoadedSkills::new(Skills {
        available: available.collect(),
        ..Skills::default()
    });
    for name in arguments {
        println!("{}", loaded.load(&name).text);
    }
    println!("{}", loaded.block());
}
