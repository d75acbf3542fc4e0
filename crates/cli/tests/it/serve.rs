//! `quillet serve`, on a free port.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use quillet_test_support::scripted::{ScriptedServer, answer, good};

use crate::Place;

/// A running server that is killed at the end of the test.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) notes: Vec<String>,
}

impl Running {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        Running::start_with(place, args, &[])
    }

    pub(crate) fn start_with(place: &Place, args: &[&str], env: &[(&str, &str)]) -> Self {
        let args: Vec<&str> = ["serve", "--listen", "127.0.0.1:0"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        Running::of(place.command(&args), env)
    }

    /// Like `start`, but with another program whose last arguments are those of the server.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_by(
        place: &Place,
        by: &[&str],
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Self {
        let mut command = std::process::Command::new(by[0]);
        command
            .args(&by[1..])
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(args)
            .current_dir(place.path())
            .env_clear()
            .env("HOME", place.path());
        Running::of(command, env)
    }

    fn of(mut command: std::process::Command, env: &[(&str, &str)]) -> Self {
        command.envs(env.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut notes = Vec::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            let last = line.contains("docs ");
            notes.push(line);
            if last {
                break;
            }
        }
        let first = notes
            .iter()
            .find_map(|line| line.split_once("http://"))
            .expect("it says where it listens");
        let address = first.1.trim().to_owned();
        Running {
            child,
            address,
            notes,
        }
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> String {
        self.send(method, path, &[], body)
    }

    /// Sends a request with additional headers.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let more: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n{more}content-length: {length}\r\n\r\n{body}",
            self.address
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_demo_serves_prompts_and_a_mock() {
    let place = Place::new();
    let server = Running::start(&place, &["--demo"]);
    let said = server.notes.join("\n");
    assert!(said.contains("model  mock"), "{said}");
    assert!(
        server
            .request("GET", "/healthz", "")
            .starts_with("HTTP/1.1 200")
    );
    let prompts = server.request("GET", "/api/prompts", "");
    assert!(prompts.starts_with("HTTP/1.1 200"), "{prompts}");
    // An agent works without a network and calls a tool.
    let asked = r#"{"input": {"text": "Say hello"}, "tools": {"builtin": {"prompt/hello": {}}}}"#;
    let answer = server.request("POST", "/v1/response", asked);
    for event in [
        "response.start",
        "tool.start",
        "tool.done",
        "content.delta",
        "response.done",
    ] {
        assert!(
            answer.contains(&format!("event: {event}\n")),
            "{event}: {answer}"
        );
    }
}

/// An MCP server that never responds does not delay the start or a run. The configured timeout is
/// one hour, so any wait would be visible.
#[test]
fn a_silent_mcp_server_is_not_waited_for() {
    let place = Place::new().with(&[
        (
            "quillet.toml",
            "[tools]\nmcp_start_ms = 3600000\nmcp_call_ms = 3600000\n[agent]\nmcp_servers = \"mcp.json\"\n",
        ),
        (
            "mcp.json",
            r#"{"mcpServers": {"silent": {"command": "sleep", "args": ["3600"]}}}"#,
        ),
    ]);
    let server = Running::start(&place, &["--demo"]);
    assert!(
        server
            .request("GET", "/ready", "")
            .starts_with("HTTP/1.1 200")
    );
    for _ in 0..2 {
        let answer = server.request("POST", "/v1/response", r#"{"input": {"text": "Hello"}}"#);
        assert!(answer.contains("event: response.done\n"), "{answer}");
    }
    let said = server.notes.join("\n");
    assert!(said.contains("silent"), "{said}");
}

#[test]
fn names_in_agents_that_nothing_answers_to_are_told_at_the_start() {
    let place = Place::new().with(&[
        ("s/prompts/hi.gotmpl", "Hi"),
        (
            "s/agents/a.yaml",
            "tools: [prompt/hi, web_serch, db_shop_query]\n",
        ),
    ]);
    let server = Running::start(&place, &["--store", "dir:s", "--model", "mock"]);
    let said = server.notes.join("\n");
    assert!(said.contains("\"web_serch\" matches no tool"), "{said}");
    assert_eq!(said.matches("matches no tool").count(), 1, "{said}");
}

#[test]
fn a_folder_is_served_and_the_model_is_chosen_openly() {
    let place = Place::new().with(&[("s/prompts/hi.gotmpl", "Hi {{.variables.name}}")]);
    let server = Running::start(&place, &["--store", "dir:s"]);
    let said = server.notes.join("\n");
    assert!(said.contains("model  none"), "{said}");
    let rendered = server.request(
        "POST",
        "/api/render/prompts/hi",
        r#"{"variables": {"name": "Ada"}}"#,
    );
    assert!(rendered.contains("Hi Ada"), "{rendered}");
}

#[test]
fn what_cannot_be_served_is_refused_at_once() {
    let place = Place::new();
    let cases: [(&[&str], i32, &[&str]); 3] = [
        (
            &["serve", "--demo", "--listen", "here"],
            2,
            &["server.listen (flag --listen) must be ADDRESS:PORT"],
        ),
        (
            &["serve", "--demo", "--listen", "0.0.0.0:0"],
            2,
            &["server.tokens"],
        ),
        (
            &["serve", "--store", "rdis://x"],
            2,
            &["did you mean redis://?"],
        ),
    ];
    for (args, code, words) in cases {
        place.run(args).fails(code, words);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    place
        .run(&["serve", "--demo", "--listen", &address])
        .fails(1, &["cannot listen on", "--listen"]);
}

#[test]
fn signals_end_it_in_peace() {
    let place = Place::new();
    for signal in ["-TERM", "-INT"] {
        let mut server = Running::start(&place, &["--demo"]);
        let id = server.child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args([signal, &id])
            .status()
            .unwrap();
        assert!(sent.success());
        assert_eq!(server.child.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[test]
fn a_key_and_an_address_in_the_environment_are_enough_to_chat() {
    let failing = answer(500, "application/json", &[], "{}");
    let provider = ScriptedServer::start(vec![failing, good("Good day!")]);
    let url = provider.url();
    let env = [
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", "sk-canary"),
        ("QUILLET_MODEL", "small"),
    ];
    let place = Place::new().with(&[("s/prompts/hi.gotmpl", "Hi {{.variables.name}}")]);
    let server = Running::start_with(&place, &["--store", "dir:s"], &env);
    let said = server.notes.join("\n");
    assert!(
        said.contains(&format!("model  openai-chat at {url}")) && !said.contains("canary"),
        "{said}"
    );
    let chat = server.request(
        "POST",
        "/api/chat/prompts/hi",
        r#"{"variables": {"name": "Ada"}}"#,
    );
    assert!(chat.contains("Good day!"), "{chat}");
    let seen = provider.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].body.contains("Hi Ada"), "{}", seen[1].body);
}

#[test]
fn models_elsewhere_are_reached_through_the_proxy() {
    let proxy = ScriptedServer::start(vec![good("Good day!")]);
    let proxy_url = proxy.url();
    let env = [
        ("HTTP_PROXY", proxy_url.as_str()),
        ("OPENAI_BASE_URL", "http://models.example"),
        ("QUILLET_MODEL", "small"),
    ];
    let place = Place::new().with(&[("s/prompts/hi.gotmpl", "Hi")]);
    let server = Running::start_with(&place, &["--store", "dir:s"], &env);
    let chat = server.request("POST", "/api/chat/prompts/hi", "{}");
    assert!(chat.contains("Good day!"), "{chat}");
    let head = &proxy.seen()[0].head;
    assert!(
        head.starts_with("POST http://models.example/v1/chat/completions "),
        "{head}"
    );
}

#[test]
fn prompt_files_of_a_store_find_the_schemas_of_the_settings() {
    let place = Place::new().with(&[
        (
            "st/prompts/recipe.prompt",
            "---\ninput:\n  schema: RecipeRequest\n---\nCook {{dish}}",
        ),
        (
            "request.yaml",
            "type: object\nproperties:\n  dish: {type: string}\nrequired: [dish]\n",
        ),
        (
            "quillet.toml",
            "[prompts.schemas]\nRecipeRequest = \"request.yaml\"\n",
        ),
    ]);
    let running = Running::start(&place, &["--store", "dir:st"]);
    let path = "/api/render/prompts/recipe";
    let fine = running.request("POST", path, r#"{"variables": {"dish": "soup"}}"#);
    assert!(fine.contains("Cook soup"), "{fine}");
    let wrong = running.request("POST", path, r#"{"variables": {"dish": 7}}"#);
    assert!(wrong.contains("400") && wrong.contains("dish"), "{wrong}");
}
