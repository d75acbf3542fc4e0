//! Scripts in `examples/scripts`: their tests pass, and the sessions in the documentation produce
//! the documented output without a model.

use std::path::{Path, PathBuf};

use crate::{Done, Place};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// Runs the command in the repository root, without any configuration.
fn at_root(args: &[String]) -> Done {
    let place = Place::new();
    let mut command = place.command(args);
    let output = command.current_dir(root()).output().unwrap();
    Done {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Sessions of a page: the arguments after `$ quillet`, and the expected output.
fn sessions(page: &str) -> Vec<(Vec<String>, String)> {
    let blocks = page.split("\n```\n").skip(1).step_by(2);
    let session = |block: &str| {
        let (line, out) = block.split_once('\n').unwrap_or((block, ""));
        let line = line.strip_prefix("$ quillet ")?;
        let out = match out {
            "" => String::new(),
            text => format!("{text}\n"),
        };
        Some((words(line), out))
    };
    blocks.filter_map(session).collect()
}

/// Splits a line into words; single quotes group words.
fn words(line: &str) -> Vec<String> {
    let pieces = line.split('\'').zip([false, true].into_iter().cycle());
    let words = pieces.flat_map(|(piece, quoted)| {
        if quoted {
            vec![piece.to_owned()]
        } else {
            piece.split_whitespace().map(str::to_owned).collect()
        }
    });
    words.collect()
}

#[test]
fn the_documented_lines_give_what_is_shown() {
    let page = std::fs::read_to_string(root().join("docs/scripts/examples.md")).unwrap();
    let sessions = sessions(&page);
    assert_eq!(sessions.len(), 7, "{sessions:#?}");
    for (args, out) in sessions.iter().filter(|(args, _)| args[0] == "run") {
        at_root(args).gives(out);
    }
}

#[test]
fn the_examples_pass_their_tests() {
    let done = at_root(&["test", "examples/scripts"].map(str::to_owned));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.ends_with("16 passed\n"), "{done:?}");
}
