//! Compares the number of compiled crates (of the template library, the default build and the full
//! build) with the figures in `scripts/weight.txt`, so that growth is noticed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Tolerated growth in percent.
const SLACK: usize = 5;

const BUILDS: [(&str, &[&str]); 3] = [
    (
        "crates of the template library",
        &["--package", "quillet-template"],
    ),
    ("crates of the default build", &["--package", "quillet-cli"]),
    (
        "crates of everything",
        &["--package", "quillet-cli", "--features", "full"],
    ),
];

/// Returns the crates that a build compiles. Several versions of a crate count separately.
fn compiled(build: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix=none"])
        .args(["--edges=normal,build", "--format={p}"])
        .args(["--target=x86_64-unknown-linux-gnu"])
        .args(build)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo tree runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).expect("names are UTF-8");
    let name = |line: &str| {
        let words: Vec<&str> = line.split(' ').take(2).collect();
        words.join(" ")
    };
    text.lines()
        .filter(|line| !line.is_empty())
        .map(name)
        .collect()
}

fn kept(figures: &str, what: &str) -> usize {
    let line = figures.lines().find_map(|line| line.strip_prefix(what));
    let number = line.and_then(|rest| rest.strip_prefix(": ")?.trim().parse().ok());
    number.unwrap_or_else(|| panic!("scripts/weight.txt has no line \"{what}: NUMBER\""))
}

#[test]
fn no_more_is_compiled_than_was_said() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/weight.txt");
    let figures = std::fs::read_to_string(file).expect("the figures are there");
    for (what, build) in BUILDS {
        let (found, kept) = (compiled(build).len(), kept(&figures, what));
        assert!(
            found * 100 <= kept * (100 + SLACK),
            "{what}: {found}, and scripts/weight.txt has {kept}. Do without, or say in CHANGELOG.md \
             what needs them and raise the figure (`cargo tree {}` lists them)",
            build.join(" ")
        );
        assert!(
            found * (100 + SLACK) >= kept * 100,
            "{what}: {found}, and scripts/weight.txt still has {kept}: lower the figure, so that it holds"
        );
    }
}
