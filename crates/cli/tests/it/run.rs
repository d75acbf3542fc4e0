//! `quillet run`: arguments, results and restrictions of scripts.

use std::fs;
use std::io::Read;
#[cfg(feature = "js")]
use std::net::TcpListener;
#[cfg(feature = "js")]
use std::sync::Arc;
#[cfg(feature = "js")]
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};
use serde_json::Value;

use crate::Place;
use crate::ask::{borrowed, endless, hear, interrupt, reach, start};
use crate::pseudo_terminal::Terminal;

const GREET: &str = "---\ninput:\n  - name: {required: true, index: 0}\n---\nsystem: Be brief.\n---\n\"Greet {{name}}\"\n";

fn place() -> Place {
    Place::new().with(&[("greet.ai.yaml", GREET)])
}

/// Runs a script with a provider that returns these answers.
fn answered(
    place: &Place,
    args: &[&str],
    input: &str,
    answers: &[&str],
) -> (crate::Done, Vec<Value>) {
    let turns = answers.iter().map(|answer| ScriptedReply::text([*answer]));
    let provider = FakeProvider::start(ReplyScript::turns(turns.collect::<Vec<_>>()));
    let env = reach(&provider);
    let mut all = vec!["run"];
    all.extend(args);
    all.extend(["-m", "gpt-4o"]);
    let done = place.run_with(&all, input, &borrowed(&env));
    let requests = provider.requests();
    let asked = requests
        .iter()
        .map(quillet_fake_provider::RecordedRequest::json);
    (done, asked.collect())
}

fn last_said(asked: &Value) -> String {
    let messages = asked["messages"].as_array().unwrap();
    messages.last().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_script_gives_its_answer_and_nothing_else() {
    let place = place();
    for target in ["greet.ai.yaml", "greet", "./greet"] {
        let (done, asked) = answered(&place, &[target, "Ada"], "", &["Hello Ada."]);
        done.gives("Hello Ada.\n");
        assert_eq!(last_said(&asked[0]), "Greet Ada", "{target}");
    }
}

#[test]
fn arguments_come_from_everywhere_and_the_last_wins() {
    let script = "---\ninput: [a, b, content]\n---\n$echo: \"?={a: this.a, b: this.b, content: this.content}\"\n";
    let place = Place::new().with(&[
        ("s.ai.yaml", script),
        ("d.yaml", "a: file\nb: [1]\n"),
        ("t.txt", "text"),
    ]);
    let cases: [(&[&str], &str, Value); 7] = [
        (
            &["s", "{a: 'x', b: 2,}"],
            "",
            serde_json::json!({"a": "x", "b": 2}),
        ),
        (
            &["s", "-a", r#"{"a":"x"}"#, "-D", "a=y"],
            "",
            serde_json::json!({"a": "y"}),
        ),
        (
            &["s", "-d", "d.yaml", "-D", "a=5"],
            "",
            serde_json::json!({"a": 5, "b": [1]}),
        ),
        (
            &["s", "-D", "a=@t.txt", "-D", "b.c=true"],
            "",
            serde_json::json!({"a": "text", "b": {"c": true}}),
        ),
        (&["s"], "piped\n", serde_json::json!({"content": "piped"})),
        (
            &["s", "{content: 'said'}"],
            "piped",
            serde_json::json!({"content": "said"}),
        ),
        (
            &["-f", "s.ai.yaml", "{a: 1}"],
            "",
            serde_json::json!({"a": 1}),
        ),
    ];
    for (args, input, expected) in cases {
        let mut all = vec!["run"];
        all.extend(args);
        let done = place.run_with(&all, input, &[]);
        assert_eq!(done.code, Some(0), "{args:?} {done:?}");
        let value: Value = serde_json::from_str(&done.out).unwrap();
        assert_eq!(value, expected, "{args:?}");
    }
}

#[test]
fn values_are_json_texts_are_raw_and_nothing_is_nothing() {
    let cases = [
        ("$echo: \"a\\tb\"", "a\tb\n"),
        ("$echo: \"?=1+1\"", "2\n"),
        ("$echo: \"?={a: [1]}\"", "{\n  \"a\": [\n    1\n  ]\n}\n"),
        ("$echo: \"\"", ""),
        ("$set: {a: 1}\n$echo: \"?=this.nothing\"", ""),
        (
            "$print: first\n$print: second\n$echo: third",
            "first\nsecond\nthird\n",
        ),
    ];
    for (script, expected) in cases {
        let place = Place::new().with(&[("s.ai.yaml", script)]);
        place.run(&["run", "s"]).gives(expected);
    }
    let place = Place::new();
    let done = place.run_with(&["run", "-"], "$echo: \"?=2*3\"\n", &[]);
    done.gives("6\n");
}

#[test]
fn exit_codes_say_what_failed() {
    let place = place().with(&[
        ("broken.ai.yaml", "user: hi\n$fro: 3\n"),
        (
            "loop.ai.yaml",
            "- $while: \"?=true\"\n  do: [{$set: {a: 1}}]\n",
        ),
        (
            "write.ai.yaml",
            "---\nimport: [\"js:fs\"]\n---\n$fs.writeFileSync: [x.txt, text]\n",
        ),
    ]);
    place.run(&["run"]).fails(2, &["SCRIPT"]);
    place
        .run(&["run", "gret", "-I", "."])
        .fails(1, &["unknown script \"gret\"", "greet"]);
    place
        .run(&["run", "greet", "--allow-read", "nowhere"])
        .fails(2, &["--allow-read nowhere"]);
    place
        .run(&["run", "greet", "{name: "])
        .fails(2, &["the arguments"]);
    place
        .run(&["run", "greet"])
        .fails(3, &["greet.ai.yaml:3:", "required"]);
    place
        .run(&["run", "broken"])
        .fails(3, &["broken.ai.yaml:2:1", "$fro"]);
    let steps = place.run(&["run", "loop", "--max-steps", "100"]);
    steps.fails(3, &["100"]);
    place
        .run(&["run", "greet", "Ada", "-m", "mock-fail-500"])
        .fails(4, &["500"]);
    let no_key = place.run(&["run", "greet", "Ada", "-m", "claude-sonnet-4-5"]);
    no_key.fails(4, &["ANTHROPIC_API_KEY"]);
    assert!(!place.path().join("x.txt").exists());
}

#[test]
fn the_mock_says_that_nobody_else_was_there() {
    let place = place();
    let done = place.run(&["run", "greet", "Ada"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(
        done.out.contains("mock") && done.err.contains("no model is configured"),
        "{done:?}"
    );
    let named = place.run(&["run", "greet", "Ada", "-m", "mock"]);
    assert_eq!(named.err, "");
}

#[test]
fn a_dry_run_shows_requests_and_asks_nobody() {
    let place = place();
    let done = place.run(&["run", "greet", "Ada", "--dry-run", "-m", "gpt-4o"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for part in [
        "# Request 1",
        "model: gpt-4o",
        "[system]",
        "Be brief.",
        "Greet Ada",
    ] {
        assert!(done.out.contains(part), "{part} is not in\n{}", done.out);
    }
    let json = place.run(&["run", "greet", "Ada", "--explain", "--json"]);
    let requests: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(last_said(&requests[0]), "Greet Ada");
}

/// Returns all files below a folder by path.
#[cfg(feature = "js")]
fn files_below(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.path().display().to_string();
        if entry.path().is_dir() {
            all.push((name, Vec::new()));
            all.extend(files_below(&entry.path()));
        } else {
            all.push((name, fs::read(entry.path()).unwrap()))
        }
    }
    all.sort();
    all
}

#[cfg(feature = "js")]
#[test]
fn a_dry_run_leaves_everything_as_it_was() {
    let write = "!fn |-\n  save() {\n    require('fs').writeFileSync('keep.txt', 'gone')\n  }\n$save()\nuser: go on\n";
    let python =
        "!fn |-\n  [python] def touch():\n    open('keep.txt', 'w')\n$touch()\nuser: go on\n";
    let env = "user: \"go on {{ENV.SECRET}}\"\n";
    let tool = "- $touch_it: {a: b}\n- user: go on\n";
    let rest = "- $lookup: {}\n- user: go on\n";
    let (url, contacted) = counting();
    let lookup = format!("url: {url}/x\n");
    let servers =
        r#"{"mcpServers": {"touch": {"command": "sh", "args": ["-c", "touch started"]}}}"#;
    let place = place().with(&[
        ("write.ai.yaml", write),
        ("python.ai.yaml", python),
        ("env.ai.yaml", env),
        ("tool.ai.yaml", tool),
        ("rest.ai.yaml", rest),
        ("store/tools/lookup.yaml", &lookup),
        ("keep.txt", "precious"),
        ("mcp.json", servers),
        ("quillet.toml", "[agent]\nmcp_servers = \"mcp.json\"\n"),
        (
            "chats/write/history.yaml",
            "- role: user\n  content: before\n",
        ),
    ]);
    let table: [(&str, &[&str], &str); 10] = [
        ("write", &["--allow-write", "."], "fs.writeFile"),
        (
            "write",
            &["--allow-read", ".", "--allow-write", "."],
            "a dry run accesses nothing",
        ),
        ("write", &["--allow-net"], "a dry run accesses nothing"),
        (
            "python",
            &["--allow-run"],
            "Python function `touch` was not executed",
        ),
        (
            "env",
            &["--allow-env", "SECRET"],
            "a dry run accesses nothing",
        ),
        (
            "rest",
            &["--store", "dir:store"],
            "the tool `lookup` was not called",
        ),
        ("tool", &[], "is assumed to be a tool of an MCP server"),
        ("write", &["--histories", "chats", "-n"], "fs.writeFile"),
        ("write", &["--histories", "chats", "-k"], "fs.writeFile"),
        ("write", &["--record", "tape"], "fs.writeFile"),
    ];
    let before = files_below(place.path());
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["no"])]));
    let path = std::env::var("PATH").unwrap();
    let mut around = reach(&provider);
    around.push(("SECRET", "hidden".to_owned()));
    around.push(("PATH", path));
    for (script, flags, note) in table {
        let mut args = vec!["run", script, "--dry-run", "-m", "gpt-4o"];
        args.extend(flags);
        let done = place.run_with(&args, "", &borrowed(&around));
        assert_eq!(done.code, Some(0), "{script} {flags:?}: {done:?}");
        assert!(done.out.contains("go on"), "{script} {flags:?}: {done:?}");
        assert!(!done.out.contains("hidden"), "{script} {flags:?}: {done:?}");
        assert!(done.err.contains(note), "{script} {flags:?}: {done:?}");
        assert_eq!(files_below(place.path()), before, "{script} {flags:?}");
    }
    assert_eq!(provider.requests().len(), 0);
    assert_eq!(contacted.load(Ordering::SeqCst), 0);
}

/// A server that counts connections.
#[cfg(feature = "js")]
fn counting() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counter.fetch_add(1, Ordering::SeqCst);
            drop(stream);
        }
    });
    (url, count)
}

#[test]
fn all_of_an_outcome_is_json() {
    let (done, _) = answered(&place(), &["greet", "Ada", "--json"], "", &["Hi."]);
    let shown: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(shown["result"], "Hi.");
    assert_eq!(
        (&shown["model_calls"], &shown["prefix"]),
        (&1.into(), &1.into())
    );
    assert_eq!(shown["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn messages_are_shown_beside_the_result_when_asked_for() {
    for how in ["-e", "-e=true", "-e=line"] {
        let (done, _) = answered(&place(), &["greet", "Ada", how], "", &["Hello."]);
        assert_eq!(done.out, "Hello.\n", "{how}");
        assert!(done.err.contains("[assistant]: Hello."), "{how}: {done:?}");
        assert!(
            !done.err.contains("Be brief"),
            "the hidden beginning is hidden: {done:?}"
        );
    }
}

#[test]
fn parameters_and_providers_reach_the_model() {
    let args = [
        "greet",
        "Ada",
        "--temperature",
        "0.5",
        "--max-tokens",
        "9",
        "-P",
        "openai",
    ];
    let (done, asked) = answered(&place(), &args, "", &["Hi."]);
    done.gives("Hi.\n");
    let (temperature, tokens) = (&asked[0]["temperature"], &asked[0]["max_tokens"]);
    assert_eq!(
        (temperature, tokens, &asked[0]["model"]),
        (&0.5.into(), &9.into(), &"gpt-4o".into())
    );
}

#[test]
fn a_tool_of_the_store_is_called() {
    let place = Place::new().with(&[
        ("store/prompts/greet.yaml", "description: Greets\nuserPrompt: Hello {{.variables.name}}\nparameters:\n  - {name: name, type: string}\n"),
        ("s.ai.yaml", "- prompt/greet: $tool\n  name: Ada\n"),
    ]);
    place
        .run(&["run", "s", "--store", "dir:store"])
        .gives("Hello Ada\n");
}

#[test]
fn control_c_prints_what_was_said_and_ends_with_130() {
    let provider = endless();
    let place = place();
    let command = place.command(&["run", "greet", "Ada", "-m", "gpt-4o", "-e=line"]);
    let mut child = start(command, &provider);
    let mut shown = [0; "[user]: Greet Ada\n[assistant]: It begins".len()];
    child
        .stderr
        .as_mut()
        .unwrap()
        .read_exact(&mut shown)
        .unwrap();
    interrupt(&child);
    hear(&mut child, "It begins");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn on_a_terminal_the_answer_comes_once() {
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Hel", "lo."])]));
    let place = place();
    let mut command = place.command(&["run", "greet", "Ada", "-m", "gpt-4o"]);
    command.envs(reach(&provider));
    let mut terminal = Terminal::start(command);
    terminal.until("Hello.");
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(
        terminal.shown.matches("Hello.").count(),
        1,
        "{}",
        terminal.shown
    );
}

#[test]
fn a_conversation_is_kept_and_gone_on_with() {
    let place = Place::new().with(&[("c.ai.yaml", "system: Be kind.\n---\n")]);
    let chat = |words: &str, more: &[&'static str], answer: &str| {
        let mut args = vec!["c", words, "--histories", "chats"];
        args.extend(more);
        let (done, asked) = answered(&place, &args, "", &[answer]);
        done.gives(&format!("{answer}\n"));
        asked[0]["messages"].as_array().unwrap().len()
    };
    assert_eq!(chat("I am Ada", &[], "Hello Ada"), 2);
    assert_eq!(chat("Who am I?", &[], "Ada"), 4);
    let kept = fs::read_to_string(place.path().join("chats/c/history.yaml")).unwrap();
    for part in [
        "- role: \"user\"",
        "content: \"I am Ada\"",
        "createdAt:",
        "content: \"Ada\"",
    ] {
        assert!(kept.contains(part), "{part} is not in\n{kept}");
    }
    assert!(!kept.contains("Be kind"), "{kept}");
    assert_eq!(chat("Anew", &["--new-chat"], "Yes"), 2);
    assert_eq!(chat("Unkept", &["--no-chats"], "Yes"), 2);
    let files = fs::read_dir(place.path().join("chats/c")).unwrap().count();
    assert_eq!(files, 2);
}

#[test]
fn the_dialogue_goes_on_line_by_line() {
    let place = Place::new().with(&[(
        "c.ai.yaml",
        "---\nmood: fine\n---\nsystem: Be kind.\n---\nassistant: I am here.\n",
    )]);
    let lines = "first\n/.mood\n/$echo(3)\n/nonsense\nsecond\n/exit\nnever\n";
    let (done, asked) = answered(&place, &["c", "-i"], lines, &["One.", "Two."]);
    assert_eq!(done.out, "I am here.\nOne.\nfine\n3\nTwo.\n", "{done:?}");
    assert!(done.err.contains("unknown command /nonsense"), "{done:?}");
    assert_eq!(asked.len(), 2);
    let said: Vec<&str> = asked[1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["Be kind.", "I am here.", "first", "One.", "second"]);
}

#[cfg(feature = "js")]
#[test]
fn a_line_is_printed_once_wherever_it_ends_the_script() {
    let table = [
        ("$print: x", "x\n"),
        ("$if: 'true'\n  then:\n    - $print: x", "x\n"),
        ("$if: 'false'\n  then: [$exit]\n  else: {$print: x}", "x\n"),
        ("$for: 2\n  do:\n    - $print: 'p{{value}}'", "p1\np2\n"),
        (
            "$set: {n: 0}\n$while: 'n < 2'\n  do:\n    - $set: {n: '?=n + 1'}\n    - $print: '{{n}}'",
            "1\n2\n",
        ),
        ("$match(1):\n  :1:\n    - $print: x", "x\n"),
        ("- - $print: x", "x\n"),
        ("$echo: x\n-> $print", "x\n"),
        // A result that differs from the last printed line is printed separately.
        ("$print: x\n$echo: x", "x\nx\n"),
        ("$print: x\n$ret: y", "x\ny\n"),
        (
            "!fn |-\n  f () { this.$print('x'); return 'x' }\n$f()",
            "x\nx\n",
        ),
    ];
    for (script, out) in table {
        let place = Place::new().with(&[("s.ai.yaml", &format!("{script}\n"))]);
        let done = place.run(&["run", "s"]);
        assert_eq!(
            (done.code, &*done.out),
            (Some(0), out),
            "{script}: {done:?}"
        );
    }
}

#[cfg(feature = "js")]
#[test]
fn a_script_that_throws_writes_no_result() {
    for script in [
        "$throw: bad",
        "$throw: {message: bad, code: 5}",
        "!fn |-\n  f () { throw new Error('bad') }\n$f()",
    ] {
        let place = Place::new().with(&[("s.ai.yaml", &format!("{script}\n"))]);
        place.run(&["run", "s"]).fails(3, &["bad"]);
    }
}

#[test]
fn a_chat_file_does_not_repeat_its_greeting() {
    let place = Place::new().with(&[(
        "bot.ai.yaml",
        "---\nname: Bot\n---\nsystem: Be kind.\n---\nassistant: Hello, I am {{name}}.\n",
    )]);
    for (number, words) in ["one", "two", "three"].into_iter().enumerate() {
        let args = ["bot", words, "--histories", "chats"];
        let (_, asked) = answered(&place, &args, "", &["Yes."]);
        let messages = asked[0]["messages"].as_array().unwrap();
        // The request contains the system message, the greeting, the earlier turns and the new
        // text.
        assert_eq!(messages.len(), 3 + 2 * number, "{messages:?}");
    }
    let kept = fs::read_to_string(place.path().join("chats/bot/history.yaml")).unwrap();
    assert_eq!(kept.matches("Hello, I am Bot.").count(), 1, "{kept}");
}

#[cfg(feature = "js")]
#[test]
fn scripts_fetch_what_is_granted_and_listed() {
    let (url, contacted) = counting();
    let script = format!("$ret: '?=this.$fetch({{url: \"{url}\"}})'\n");
    let in_javascript = format!(
        "!fn |-\n  async f () {{ const answer = await fetch('{url}'); return [answer.ok, answer.status, await answer.text()] }}\n$f()\n"
    );
    let by_script = format!("-> url(url=\"{url}\")\n");
    let place = Place::new().with(&[
        ("s.ai.yaml", &script),
        ("f.ai.yaml", &in_javascript),
        ("u.ai.yaml", &by_script),
    ]);
    for name in ["s", "f", "u"] {
        place.run(&["run", name]).fails(5, &["--allow-net"]);
        let net = ["run", name, "--allow-net"];
        place.run(&net).fails(3, &["tools.addresses.allow"]);
    }
    assert_eq!(contacted.load(Ordering::SeqCst), 0);

    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["no"])]));
    let url = format!("http://{}", provider.address());
    let script = format!(
        "!fn |-\n  async f () {{ const answer = await fetch('{url}/nothing-here'); return [typeof answer.status, (await answer.text()).length > 0] }}\n$f()\n"
    );
    let listed = "[tools]\naddresses = {allow = [\"127.0.0.1\"]}\n";
    let place = Place::new().with(&[("s.ai.yaml", &script), ("quillet.toml", listed)]);
    let done = place.run(&["run", "s", "--allow-net"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let result: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(result, serde_json::json!(["number", true]));
}

#[test]
fn tokens_and_money_of_a_run_have_bounds() {
    let script = "- $for: 5\n  do:\n    - user: again\n    - assistant: '[[A]]'\n";
    let place = Place::new().with(&[("s.ai.yaml", script)]);
    let answers = ["a", "b", "c", "d", "e"];
    let table: [(&[&str], &str); 3] = [
        (&["--max-tokens-total", "1"], "--max-tokens-total"),
        (&["--max-cost", "0.0000001"], "--max-cost"),
        (&["--max-cost", "0"], "--max-cost"),
    ];
    for (flags, named) in table {
        let mut args = vec!["s"];
        args.extend(flags);
        let (done, asked) = answered(&place, &args, "", &answers);
        assert_eq!(done.code, Some(3), "{flags:?}: {done:?}");
        assert!(done.err.contains(named), "{flags:?}: {done:?}");
        assert!(asked.len() < 2, "{flags:?}: {}", asked.len());
    }
    let unknown = place.run(&["run", "s", "-m", "mock", "--max-cost", "1"]);
    unknown.fails(3, &["the price of `mock` is unknown"]);
}

#[test]
fn templates_in_scripts_keep_to_the_limits_of_renders() {
    let script = "- $echo: \"{% for n in range(20000) %}.{% endfor %}\"\n";
    let place = Place::new().with(&[
        ("dots.ai.yaml", script),
        ("steps.toml", "[render]\nsteps = 1000\n"),
        ("output_bytes.toml", "[render]\noutput_bytes = 1000\n"),
    ]);
    let dots = ".".repeat(20_000) + "\n";
    place.run(&["run", "dots.ai.yaml"]).gives(&dots);
    for limit in ["steps", "output_bytes"] {
        let config = format!("{limit}.toml");
        let done = place.run(&["--config", &config, "run", "dots.ai.yaml"]);
        let said = format!("render stopped at the limit on {limit} (1000)");
        done.fails(3, &[&said]);
    }
}
