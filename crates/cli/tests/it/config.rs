//! Sources of settings.

use crate::Place;

#[test]
fn flags_beat_the_environment_beats_the_project_beats_the_user() {
    let user = (
        "conf/quillet/config.toml",
        "[server]\nlisten = \"127.0.0.1:1\"\nprefix = \"/u\"\nbody_bytes = 5\n[log]\njson = true\n",
    );
    let project = (
        "quillet.toml",
        "[server]\nlisten = \"127.0.0.1:2\"\nprefix = \"/p\"\n",
    );
    let place = Place::new().with(&[user, project, ("sub/x", "")]);
    let conf = place.path().join("conf");
    let env = [
        ("XDG_CONFIG_HOME", conf.to_str().unwrap()),
        ("QUILLET_LISTEN", "127.0.0.1:3"),
        ("OPENAI_API_KEY", "sk-canary"),
        ("REDIS_URL", "redis://u:canary@h:1"),
        ("QUILLET_REQUESTS_PER_MINUTE", "openai=500,gpt-5.4=60"),
    ];
    let done = place.run_with(&["config", "show", "--origin"], "", &env);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{done:?}");
    let project = place.path().join("quillet.toml");
    let user = conf.join("quillet/config.toml");
    for line in [
        "listen = \"127.0.0.1:3\"  # environment QUILLET_LISTEN".to_owned(),
        format!("prefix = \"/p\"  # {}:3", project.display()),
        format!("body_bytes = 5  # {}:4", user.display()),
        format!("json = true  # {}:6", user.display()),
        "time_ms = 500  # default".to_owned(),
        "requests_per_minute = { \"openai\" = 500, \"gpt-5.4\" = 60 }  # environment QUILLET_REQUESTS_PER_MINUTE".to_owned(),
        "api_key = \"[secret]\"  # environment OPENAI_API_KEY".to_owned(),
        "url = \"redis://[secret]@h:1\"  # environment REDIS_URL".to_owned(),
    ] {
        assert!(
            done.out.contains(&line),
            "{line:?} is not in:\n{}",
            done.out
        );
    }
    assert!(!done.out.contains("canary"), "{}", done.out);
    let paths = place.run_with(&["config", "path"], "", &env);
    paths.gives(&format!("{}\n{}\n", user.display(), project.display()));
}

#[test]
fn tokens_with_names_are_shown_without_their_secrets() {
    let tokens = "[server]\ntokens = [\"canary-0\"]\n[server.token.ci]\nsecret = \"canary-1\"\n\
                  rights = [\"read\", \"write greet.* !greet.secret\"]\n\
                  [server.token.app]\nsecret_env = \"QUILLET_APP\"\nrights = [\"render\"]\n";
    let place = Place::new().with(&[("quillet.toml", tokens)]);
    let env = [("QUILLET_APP", "canary-2")];
    for command in [&["config", "show"][..], &["doctor"]] {
        let done = place.run_with(command, "", &env);
        let said = format!("{}{}", done.out, done.err);
        assert!(!said.contains("canary"), "{command:?}: {said}");
    }
    let shown = place.run_with(&["config", "show"], "", &env).out;
    for part in [
        r#""ci" = { secret = "[secret]", rights = ["read", "write greet.* !greet.secret"] }"#,
        r#""app" = { secret_env = "QUILLET_APP", rights = ["render"] }"#,
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let again = Place::new().with(&[("quillet.toml", &shown)]);
    again.run(&["config", "show"]).gives(&shown);
}

#[test]
fn a_secret_that_cannot_be_had_is_named() {
    for (where_from, part) in [
        (
            "secret_env = \"QUILLET_NO_SUCH\"",
            "the variable QUILLET_NO_SUCH, which is not set",
        ),
        (
            "secret_file = \"no/such\"",
            "the file no/such, which cannot be read",
        ),
        ("secret_file = \"empty\"", "has a secret that is empty"),
    ] {
        let tokens = format!("[server.token.ci]\n{where_from}\nrights = [\"read\"]\n");
        let place = Place::new().with(&[("quillet.toml", &tokens), ("empty", "\n")]);
        let done = place.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.err.contains("server.token.ci"), "{}", done.err);
        assert!(done.err.contains(part), "{}", done.err);
    }
}

#[test]
fn what_is_shown_can_be_read_again() {
    let place = Place::new();
    let shown = place.run(&["config", "show"]).out;
    let place = Place::new().with(&[("quillet.toml", &shown)]);
    place.run(&["config", "show"]).gives(&shown);
}

#[test]
fn mistakes_have_a_place_and_a_mend() {
    let cases = [
        (
            "[server]\nlisen = \"x\"\n",
            &[
                "quillet.toml:2:1",
                "unknown setting server.lisen",
                "did you mean server.listen?",
                "^^^^^",
            ][..],
        ),
        (
            "[render]\ntime_ms = \"1\"\n",
            &["quillet.toml:2:11", "must be a non-negative integer"],
        ),
        ("[server\n", &["quillet.toml:1:8"]),
        (
            "[tools.modules.m]\nbase = \"x\"\n",
            &["quillet.toml:2:1", "unknown field `base`", "base_url"],
        ),
    ];
    for (text, words) in cases {
        let place = Place::new().with(&[("quillet.toml", text)]);
        place.run(&["config", "show"]).fails(2, words);
    }
    let place = Place::new();
    place
        .run(&["--config", "nothing.toml", "config", "show"])
        .fails(2, &["nothing.toml", "cannot be read"]);
    let wrong = place.run_with(&["config", "show"], "", &[("QUILLET_LOG_JSON", "perhaps")]);
    wrong.fails(
        2,
        &[
            "log.json (environment QUILLET_LOG_JSON) must be true or false",
            "\"perhaps\"",
        ],
    );
}

#[test]
fn the_doctor_says_what_to_mend() {
    let place = Place::new().with(&[
        ("s/prompts/broken.json", r#"{"userPrompt": "{{if"}"#),
        ("s/prompts/fine.gotmpl", "x"),
    ]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = free.local_addr().unwrap().to_string();
    let env = [
        ("QUILLET_STORE", "dir:s"),
        ("QUILLET_LISTEN", taken.as_str()),
        ("QUILLET_MODEL", "mock"),
    ];
    let done = place.run_with(&["doctor"], "", &env);
    assert_eq!((done.code, done.err.as_str()), (Some(1), ""), "{done:?}");
    for part in [
        "ok    store",
        "2 prompts",
        "fail  prompt   broken:",
        "warn  model    mock",
        "fail  port",
        "set server.listen",
    ] {
        assert!(done.out.contains(part), "{part:?} is not in:\n{}", done.out);
    }
    drop(free);
    let env = [
        ("QUILLET_LISTEN", "127.0.0.1:0"),
        ("OPENAI_API_KEY", "sk-canary"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1"),
    ];
    let done = place.run_with(&["doctor"], "", &env);
    for part in [
        "warn  store    no store is set",
        "fail  model",
        "no model is set",
    ] {
        assert!(done.out.contains(part), "{part:?} is not in:\n{}", done.out);
    }
    assert!(!done.out.contains("canary"), "{}", done.out);
}
