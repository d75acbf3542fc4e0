//! `quillet keys`, and the other places that show keys.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript, ScriptedReply};

use crate::Place;

const KEY: &str = "sk-canary-0123456789-wxyz";

#[test]
fn a_key_is_kept_for_its_user_alone_and_never_shown() {
    let place = Place::new();
    let done = place.run_with(&["keys", "set", "openai"], &format!("{KEY}\n"), &[]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    let file = place.path().join(".config/quillet/keys.toml");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    for args in [
        &["keys", "list"][..],
        &["keys", "list", "--json"],
        &["config", "show", "--origin"],
        &["models", "--json"],
        &["doctor", "--offline"],
    ] {
        let done = place.run(args);
        let all = format!("{}{}", done.out, done.err);
        assert!(!all.contains("canary"), "{args:?}: {all}");
        assert!(
            args[0] == "doctor" || all.contains("keys.toml:2"),
            "{args:?}: {all}"
        );
    }
    let listed = place.run(&["keys", "list"]);
    assert!(listed.out.contains("…wxyz"), "{listed:?}");
    assert_eq!(place.run(&["keys", "remove", "openai"]).code, Some(0));
    place
        .run(&["keys", "remove", "openai"])
        .fails(1, &["no key for openai"]);
}

#[test]
fn keys_are_never_taken_from_the_command_line() {
    let place = Place::new();
    place
        .run(&["keys", "set", "openai", KEY])
        .fails(2, &["unexpected argument"]);
    place
        .run(&["keys", "set", "opnai"])
        .fails(2, &["invalid value", "openai"]);
    for wrong in ["", " \n", "two words", "zwei\u{e4}"] {
        let done = place.run_with(&["keys", "set", "openai"], wrong, &[]);
        done.fails(2, &["invalid key: expected letters"]);
    }
}

#[test]
fn the_environment_wins_over_the_file() {
    let place = Place::new();
    place.run_with(&["keys", "set", "openai"], KEY, &[]);
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Hi."])]));
    let url = provider.base_url(ProviderApi::OpenAiChat);
    let ask = ["ask", "hi", "-m", "gpt-4o", "-u", &url];
    place.run(&ask).gives("Hi.\n");
    place
        .run_with(&ask, "", &[("OPENAI_API_KEY", "sk-other")])
        .gives("Hi.\n");
    let keys: Vec<Option<String>> = provider
        .requests()
        .into_iter()
        .map(|asked| asked.key)
        .collect();
    assert_eq!(keys, [Some(KEY.to_owned()), Some("sk-other".to_owned())]);
    let warned = place.run_with(&["keys", "set", "openai"], KEY, &[("OPENAI_API_KEY", "x")]);
    assert!(
        warned
            .err
            .contains("environment OPENAI_API_KEY is set and takes precedence"),
        "{warned:?}"
    );
}

#[test]
fn a_broken_file_is_named_and_not_quoted() {
    for text in [
        "openai = sk-canary",
        "opnai = \"sk-canary\"",
        "openai = [\"sk-canary\"]",
    ] {
        let place = Place::new().with(&[(".config/quillet/keys.toml", text)]);
        let done = place.run(&["models"]);
        done.fails(2, &["keys.toml", "line 1"]);
        assert!(!done.err.contains("canary"), "{}", done.err);
    }
}

#[test]
fn others_that_can_read_the_file_are_told_of() {
    let place = Place::new().with(&[(
        ".config/quillet/keys.toml",
        "openai = \"sk-0123456789abcdef\"\n",
    )]);
    let file = place.path().join(".config/quillet/keys.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    for args in [&["keys", "list"][..], &["doctor", "--offline"]] {
        let done = place.run(args);
        let all = format!("{}{}", done.out, done.err);
        assert!(all.contains("chmod 600"), "{all}");
    }
}
