//! `quillet worker` finds the program `quillet-worker`, or explains where to get it.

use crate::Place;

#[test]
fn a_worker_that_is_not_there_is_told() {
    let place = Place::new();
    let said = "cannot find quillet-worker in the folder of this program or in PATH";
    place.run(&["worker", "--temporal", "127.0.0.1:1"]).fails(
        2,
        &[
            said,
            "cargo build --release --manifest-path temporal/Cargo.toml",
        ],
    );
}

#[cfg(unix)]
#[test]
fn a_worker_gets_all_that_follows_in_place_of_this_process() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new().with(&[("bin/quillet-worker", "#!/bin/sh\necho \"$@\"\nexit 3\n")]);
    let program = place.path().join("bin/quillet-worker");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = place.path().join("bin");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let given = ["worker", "--temporal", "h:1", "list", "--help"];
    let done = place.run_with(&given, "", &[("PATH", &path)]);
    assert_eq!(done.out, "--temporal h:1 list --help\n", "{done:?}");
    assert_eq!(done.code, Some(3), "{done:?}");
    let given = ["--config", "x.toml", "worker", "show", "r1"];
    let done = place.run_with(&given, "", &[("PATH", &path)]);
    assert_eq!(done.out, "--config x.toml show r1\n", "{done:?}");
}
