//! Behaviour common to all commands.

use std::io::Read;
use std::process::Stdio;

use crate::Place;

#[test]
fn nonsense_is_a_usage_error_that_helps() {
    let place = Place::new();
    let cases: [(&[&str], &[&str]); 7] = [
        (&[], &["Usage: quillet"]),
        (&["rendr"], &["unrecognized subcommand 'rendr'", "'render'"]),
        (&["render"], &["<FILE|ID>"]),
        (&["render", "x", "--foo"], &["unexpected argument '--foo'"]),
        (&["completions", "tcsh"], &["invalid value 'tcsh'", "bash"]),
        (
            &["render", "-", "--data", "-"],
            &["standard input cannot be"],
        ),
        (
            &["prompt", "list"],
            &["no store is set", "--store dir:PATH", "QUILLET_STORE"],
        ),
    ];
    for (args, words) in cases {
        place.run(args).fails(2, words);
    }
}

#[test]
fn help_version_and_completions_are_results() {
    let place = Place::new();
    let version = place.run(&["--version"]);
    version.gives(concat!("quillet ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = place.run(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    for word in [
        "serve",
        "demo",
        "render",
        "check",
        "doctor",
        "Exit codes",
        "quillet serve --demo",
    ] {
        assert!(help.out.contains(word), "{word}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = place.run(&["completions", shell]);
        assert!(
            done.code == Some(0) && done.out.contains("quillet"),
            "{shell}: {done:?}"
        );
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    let place = Place::new().with(&[("bad.tmpl", "{{if}}")]);
    let cases: [(&[(&str, &str)], bool); 4] = [
        (&[], false),
        (&[("CLICOLOR_FORCE", "1")], true),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&[("TERM", "xterm-256color")], false),
    ];
    for (env, coloured) in cases {
        for args in [["check", "bad.tmpl"], ["render", "bad.tmpl"]] {
            let done = place.run_with(&args, "", env);
            assert_eq!(done.code, Some(3), "{done:?}");
            let escapes = format!("{}{}", done.out, done.err).contains('\u{1b}');
            assert_eq!(escapes, coloured, "{args:?} {env:?}: {done:?}");
        }
    }
}

#[test]
fn a_reader_that_leaves_ends_it_silently() {
    // The text is longer than a pipe's buffer, so that the command notices the closed pipe.
    let place = Place::new().with(&[("long.tmpl", &"0123456789".repeat(100_000))]);
    let mut command = place.command(&["render", "long.tmpl"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"0123456789");
    let mut notes = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut notes)
        .unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), notes.as_str()),
        (Some(141), "")
    );
}

#[test]
fn the_tour_shows_everything_offline() {
    let place = Place::new();
    let done = place.run(&["demo"]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{done:?}");
    for part in [
        "You review {{.project.language}} code.",
        "You review Rust code. Answer in English.\n    Be strict.",
        "Open issues: 7\n    Recent commits:\n    - Bind names late\n    - Count steps in filters\n",
        "mistyped.tmpl:1:13",
        "did you mean language?",
        "mock model",
        "quillet serve --demo",
    ] {
        assert!(done.out.contains(part), "{part:?} is not in:\n{}", done.out);
    }
    assert!(!done.out.contains('\u{1b}'), "{}", done.out);
}

#[test]
fn control_c_ends_a_command_that_waits_for_input() {
    let place = Place::new();
    let mut command = place.command(&["render", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let id = child.id().to_string();
    // The signal is sent repeatedly until the command ends. If the handler is not installed yet,
    // the signal also ends the command.
    let sent = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .unwrap();
    assert!(sent.success());
    let status = child.wait().unwrap();
    assert!(!status.success(), "{status}");
}
