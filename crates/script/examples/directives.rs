//! Writes `docs/scripts/directives.md`.

use std::path::Path;

#[path = "../tests/it/directives_page.rs"]
mod directives_page;

fn main() -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scripts/directives.md");
    std::fs::write(path, directives_page::page())
}
