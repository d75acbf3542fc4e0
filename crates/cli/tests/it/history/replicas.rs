//! The history of a prompt on replicas: separate processes that share only a store.

use std::fs;

use quillet_test_support::{RedisServer, wait_for};
use serde_json::{Value as Tree, json};

use super::{FILES, Work};
use crate::Place;
use crate::serve::Running;

/// Tokens. The secret of each one is its name.
const SETTINGS: &str = r#"
[server.token.ada]
secret = "ada"
rights = ["admin"]

[server.token.ci]
secret = "ci"
rights = ["read", "render", "write"]
"#;

/// Route of the prompt.
const PROMPT: &str = "/api/v1/prompts/greet.hello";

/// Number of users in the split. With so many, an empty share of a tenth is practically impossible.
const USERS: usize = 200;

/// Text written by `redis-cli`, an SQL client or an editor.
const EDITED: &str = r#"{"userPrompt": "Hi {{.variables.name}}.\n", "format": "go"}"#;

/// A function that writes to the store directly, without a version.
type Edit<'a> = &'a dyn Fn(&Place);

/// A response of a replica.
#[derive(Debug)]
struct Heard {
    status: u16,
    head: String,
    body: String,
}

/// Sends a request to a replica with the token of this name.
fn ask(replica: &Running, who: &str, method: &str, path: &str, body: &Tree) -> Heard {
    let token = format!("Bearer {who}");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = replica.send(method, path, &[("authorization", &token)], &body);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Heard {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// Returns the JSON of a response that must be successful.
#[track_caller]
fn done(replica: &Running, who: &str, method: &str, path: &str, body: &Tree) -> Tree {
    let heard = ask(replica, who, method, path, body);
    assert!(heard.status < 300, "{heard:?}");
    serde_json::from_str(&heard.body).unwrap()
}

/// Version number in the header of a replica's render for this user.
fn version(replica: &Running, user: &str) -> Option<u64> {
    let path = "/api/v1/render/prompts/greet.hello";
    let body = json!({"variables": {"name": "Ada"}, "user": user});
    let heard = ask(replica, "ci", "POST", path, &body);
    let head = heard.head.to_ascii_lowercase();
    let mut lines = head.lines();
    let said = lines.find_map(|line| line.strip_prefix("quillet-version: "))?;
    // The rendered text must belong to the version in the header.
    let begin = if said == "1" { "Hello Ada" } else { "Hi Ada" };
    assert!(heard.body.contains(begin), "{heard:?}");
    said.parse().ok()
}

/// Returns the versions that a replica renders for all users.
fn draws(replica: &Running) -> Vec<Option<u64>> {
    let users = 0..USERS;
    users
        .map(|user| version(replica, &format!("user-{user}")))
        .collect()
}

/// Returns numbers and authors of the versions on a replica.
fn authors(replica: &Running) -> Vec<String> {
    let listed = done(
        replica,
        "ci",
        "GET",
        &format!("{PROMPT}/versions"),
        &Tree::Null,
    );
    let versions = listed["versions"].as_array().unwrap().iter();
    let told = versions.map(|one| format!("{} {}", one["version"], one["author"]));
    told.collect()
}

/// Returns the log of the prompt, newest entry first.
fn log(replica: &Running) -> Vec<String> {
    let path = "/api/v1/log?kind=prompt&id=greet.hello";
    let log = done(replica, "ada", "GET", path, &Tree::Null);
    let lines = log["lines"].as_array().unwrap().iter();
    let told = lines.map(|line| {
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        let (who, from, label) = (text("who"), text("from"), text("label"));
        let (action, message) = (text("action"), text("message"));
        format!(
            "{who} {from}: {action} {label} {} {message}",
            line["version"]
        )
    });
    told.collect()
}

fn story(place: &Place, store: &str, edit: Edit<'_>) {
    let first = Work {
        place,
        store: "sqlite:first.db",
    };
    first.out(&["push", "repo", "-m", "First"]);
    first.out(&["promote", "greet.hello"]);
    first.out(&["export", "-o", "all.jsonl"]);

    let start = || Running::start(place, &["--store", store, "--model", "mock"]);
    let replicas = [start(), start()];
    let [one, two] = &replicas;
    Work { place, store }.out(&["import", "all.jsonl"]);
    let all_say = |what: &str, number: u64| {
        for replica in &replicas {
            wait_for(what, || version(replica, "") == Some(number));
        }
    };
    all_say("the import", 1);

    edit(place);
    let versions = ["2 \"store\"", "1 \"ada\""];
    for replica in &replicas {
        wait_for("a version of the edit", || authors(replica) == versions);
        let path = format!("{PROMPT}/diff?from=1&to=2");
        let diff = ask(replica, "ci", "GET", &path, &Tree::Null).body;
        let expected = "--- greet.hello@1\n+++ greet.hello@2\n@@ -1,3 +1,3 @@\n userPrompt: |\n-  Hello {{.variables.name}}!\n+  Hi {{.variables.name}}.\n format: \"go\"\n";
        assert_eq!(diff, expected, "{store}");
    }
    // Without the label, readers still get the old version.
    assert_eq!([version(one, ""), version(two, "")], [Some(1); 2]);

    let label = format!("{PROMPT}/labels/production");
    let shares = json!({"versions": {"1": 90, "2": 10}, "by": "user"});
    let refused = ask(one, "ci", "PUT", &label, &shares);
    assert_eq!(refused.status, 403, "{refused:?}");
    done(one, "ada", "PUT", &label, &shares);
    for replica in &replicas {
        wait_for("a tenth", || draws(replica).contains(&Some(2)));
    }
    let drawn = draws(one);
    assert!(drawn.contains(&Some(1)), "{drawn:?}");
    assert_eq!(draws(two), drawn, "{store}");
    // A replica that starts later selects the same versions.
    let third = start();
    assert_eq!(draws(&third), drawn, "{store}");
    drop(third);

    let promoted = json!({"version": 2, "message": "Fewer signs"});
    done(two, "ada", "PUT", &label, &promoted);
    all_say("the promotion", 2);
    let back = format!("{label}/rollback");
    done(one, "ada", "POST", &back, &Tree::Null);
    all_say("the rollback", 1);

    let expected = [
        "ada 127.0.0.1: label production 1 rolled back to 1",
        "ada 127.0.0.1: label production 2 Fewer signs",
        "ada 127.0.0.1: label production null ",
        "ci 127.0.0.1: refused production null label production of greet.hello is protected: \
         moving it requires the permission promote, which ci does not have",
        "ada command line: label production 1 imported",
        "ada command line: import  null 1 versions imported",
    ];
    for replica in &replicas {
        assert_eq!(log(replica), expected, "{store}");
        assert_eq!(authors(replica), versions, "{store}");
    }
}

#[test]
fn two_replicas_tell_one_story() {
    let redis = RedisServer::start();
    let (redis_url, set) = (redis.url(), |_: &Place| {
        let key = "shenma:templates:greet:hello";
        assert_eq!(redis.cli(&["SET", key, EDITED]), "OK");
    });
    let update = |place: &Place| {
        let file = rusqlite::Connection::open(place.path().join("s.db")).unwrap();
        let row = "UPDATE definitions SET text = ?1 WHERE kind = 'prompt' AND key = 'greet:hello'";
        assert_eq!(file.execute(row, [EDITED]).unwrap(), 1);
    };
    let write = |place: &Place| {
        fs::write(place.path().join("s/prompts/greet/hello.json"), EDITED).unwrap();
    };
    let stores: [(&str, Edit<'_>); 3] = [
        (&redis_url, &set),
        ("sqlite:s.db", &update),
        ("dir:s", &write),
    ];
    for (store, edit) in stores {
        let place = Place::new()
            .with(&FILES)
            .with(&[("quillet.toml", SETTINGS)]);
        fs::create_dir_all(place.path().join("s/prompts")).unwrap();
        story(&place, store, edit);
    }
}

/// `cargo run --release -p quillet-cli --example label_replicas` measures the delay.
#[test]
fn a_label_that_moves_is_seen_by_three_replicas() {
    let redis = RedisServer::start();
    let place = Place::new()
        .with(&FILES)
        .with(&[("quillet.toml", SETTINGS)]);
    let url = redis.url();
    let work = Work {
        place: &place,
        store: &url,
    };
    work.out(&["push", "repo", "-m", "First"]);
    let replicas: [Running; 3] =
        std::array::from_fn(|_| Running::start(&place, &["--store", &url, "--model", "mock"]));
    let second = json!({"userPrompt": "Hi {{.variables.name}}.\n"});
    done(&replicas[0], "ci", "PUT", PROMPT, &second);
    let label = format!("{PROMPT}/labels/production");
    for (place, number) in [1, 2, 1, 2].into_iter().enumerate() {
        let mover = &replicas[place % replicas.len()];
        done(mover, "ada", "PUT", &label, &json!({"version": number}));
        for replica in &replicas {
            wait_for("the label", || version(replica, "") == Some(number));
        }
    }
    let back = format!("{label}/rollback");
    done(&replicas[1], "ada", "POST", &back, &Tree::Null);
    for replica in &replicas {
        wait_for("the rollback", || version(replica, "") == Some(1));
    }
}
