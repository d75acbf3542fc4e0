//! `quillet lsp` with an LSP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::Place;

const SCRIPT: &str = "---\ninput:\n  - {name: topic, default: socks}\n---\nuser: \"😀 tell me about {{topik}}\"\n$prnt: x\n-> helper\n";
const HELPER: &str = "---\ntitle: Helper\ninput: [content]\n---\nuser: Help!\n";

struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: i64,
    /// Notifications received while waiting for a response.
    told: Vec<Value>,
}

impl Client {
    fn start(place: &Place) -> Self {
        let mut command = place.command(&["lsp", "--stdio"]);
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Client {
            child,
            input,
            output,
            last: 0,
            told: Vec::new(),
        }
    }

    fn ready(place: &Place) -> Self {
        let mut client = Client::start(place);
        let capabilities = json!({"general": {"positionEncodings": ["utf-16"]}});
        let answer = client.ask("initialize", &json!({"capabilities": capabilities}));
        assert_eq!(
            answer["result"]["capabilities"]["positionEncoding"],
            "utf-16"
        );
        client.tell("initialized", &json!({}));
        client
    }

    fn raw(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.answer(&json!(id))
    }

    fn answer(&mut self, id: &Value) -> Value {
        loop {
            let message = self.receive();
            match message.get("id") {
                Some(found) if found == id => return message,
                _ => self.told.push(message),
            }
        }
    }

    /// Receives the next message. Any other output is a failure.
    fn receive(&mut self) -> Value {
        let mut header = String::new();
        self.output.read_line(&mut header).unwrap();
        let length = header
            .strip_prefix("Content-Length: ")
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let mut empty = String::new();
        self.output.read_line(&mut empty).unwrap();
        assert_eq!(empty, "\r\n");
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// Returns the diagnostics of a document version.
    fn findings(&mut self, uri: &str, version: i64) -> Vec<Value> {
        loop {
            let message = match self.told.pop() {
                Some(message) => message,
                None => self.receive(),
            };
            let params = &message["params"];
            if message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri
                && params["version"] == version
            {
                return params["diagnostics"].as_array().unwrap().clone();
            }
        }
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
        self.tell("textDocument/didOpen", &json!({"textDocument": document}));
    }

    fn change(&mut self, uri: &str, version: i64, range: &Value, text: &str) {
        let document = json!({"uri": uri, "version": version});
        let changes = json!([{"range": range, "text": text}]);
        self.tell(
            "textDocument/didChange",
            &json!({"textDocument": document, "contentChanges": changes}),
        );
    }

    fn at(&mut self, method: &str, uri: &str, line: u32, character: u32) -> Value {
        let position = json!({"line": line, "character": character});
        let params = json!({"textDocument": {"uri": uri}, "position": position});
        self.ask(&format!("textDocument/{method}"), &params)["result"].take()
    }

    /// Ends the server and returns its exit code.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

fn range(line: u32, start: u32, end: u32) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

fn uri(place: &Place, name: &str) -> String {
    format!("file://{}/{name}", place.path().display())
}

#[test]
fn an_editor_sees_what_is_wrong_and_what_is_there() {
    let place = Place::new().with(&[("main.ai.yaml", ""), ("helper.ai.yaml", HELPER)]);
    let uri = uri(&place, "main.ai.yaml");
    let mut client = Client::ready(&place);
    client.open(&uri, SCRIPT);
    let found = client.findings(&uri, 1);
    let told: Vec<_> = found
        .iter()
        .map(|found| (&found["code"], &found["range"], &found["severity"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("script.name"), &range(4, 26, 31), &json!(2)),
            (&json!("script.directive"), &range(5, 1, 5), &json!(1)),
        ]
    );
    assert_eq!(
        found[0]["message"],
        "no value for \"topik\"\ndid you mean topic?"
    );
    assert_eq!(
        found[0]["relatedInformation"][0]["location"]["range"],
        range(2, 11, 16)
    );

    client.change(&uri, 2, &range(4, 26, 31), "topic");
    client.change(&uri, 3, &range(5, 1, 5), "print");
    assert_eq!(client.findings(&uri, 3), Vec::<Value>::new());

    let hover = client.at("hover", &uri, 4, 10);
    let shown = hover["contents"]["value"].as_str().unwrap();
    assert_eq!(
        shown,
        "**user**, as the model gets it\n\n```text\n😀 tell me about socks\n```"
    );
    assert_eq!(hover["range"], range(4, 6, 34));
    let hover = client.at("hover", &uri, 6, 5);
    assert!(
        hover["contents"]["value"]
            .as_str()
            .unwrap()
            .starts_with("**Helper**"),
        "{hover}"
    );

    let definition = client.at("definition", &uri, 6, 5);
    assert_eq!(definition["uri"], uri.replace("main", "helper"));
    let definition = client.at("definition", &uri, 4, 27);
    assert_eq!(definition, json!({"uri": uri, "range": range(2, 11, 16)}));
    let references = client.at("references", &uri, 4, 27);
    assert_eq!(references.as_array().unwrap().len(), 2);

    client.change(&uri, 4, &range(7, 0, 0), "$");
    let items = client.at("completion", &uri, 7, 1);
    let items = items["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["label"] == "$print").unwrap();
    assert_eq!(
        found["textEdit"],
        json!({"range": range(7, 0, 1), "newText": "$print"})
    );
    assert!(
        found["documentation"]["value"]
            .as_str()
            .unwrap()
            .contains("standard output")
    );

    let document = json!({"textDocument": {"uri": uri}});
    let symbols = client.ask("textDocument/documentSymbol", &document);
    assert_eq!(symbols["result"][0]["name"], "front matter");
    assert_eq!(symbols["result"][1]["children"][0]["name"], "user");
    let folds = client.ask("textDocument/foldingRange", &document);
    assert!(folds["result"].as_array().is_some());
    client.change(&uri, 5, &json!(null), "user:   Hi\n\n\n\nassistant: x\n");
    let edits = client.ask("textDocument/formatting", &document);
    assert_eq!(edits["result"][0]["newText"], "user: Hi\n\nassistant: x\n");

    client.tell("textDocument/didClose", &document);
    assert_eq!(client.findings(&uri, 5), Vec::<Value>::new());
    assert_eq!(client.ask("shutdown", &json!(null))["result"], json!(null));
    client.tell("exit", &json!(null));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn open_scripts_count_before_those_on_disk() {
    let place = Place::new().with(&[("main.ai.yaml", SCRIPT), ("helper.ai.yaml", HELPER)]);
    let (main, helper) = (uri(&place, "main.ai.yaml"), uri(&place, "helper.ai.yaml"));
    let mut client = Client::ready(&place);
    client.open(&helper, &HELPER.replace("title: Helper", "title: Other"));
    client.open(&main, SCRIPT);
    let hover = client.at("hover", &main, 6, 5);
    assert!(
        hover["contents"]["value"]
            .as_str()
            .unwrap()
            .starts_with("**Other**"),
        "{hover}"
    );
}

#[test]
fn a_new_name_is_written_everywhere() {
    let place = Place::new();
    let uri = uri(&place, "main.ai.yaml");
    let mut client = Client::ready(&place);
    client.open(&uri, "---\n名: 小明\n---\nuser: \"你好😀{{名}}，{{名}}\"\n");
    let params = |name: &str| json!({"textDocument": {"uri": uri}, "position": {"line": 1, "character": 0}, "newName": name});
    let edits = client.ask("textDocument/rename", &params("name"));
    let edits = &edits["result"]["changes"][&uri];
    let ranges: Vec<&Value> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| &edit["range"])
        .collect();
    assert_eq!(
        ranges,
        [&range(1, 0, 1), &range(3, 13, 14), &range(3, 19, 20)]
    );
    assert_eq!(
        client.ask("textDocument/rename", &params("a b"))["error"]["code"],
        -32803
    );
}

#[test]
fn bytes_are_counted_where_the_editor_wants_that() {
    let place = Place::new();
    let uri = uri(&place, "main.ai.yaml");
    let mut client = Client::start(&place);
    let capabilities = json!({"general": {"positionEncodings": ["utf-8", "utf-16"]}});
    let answer = client.ask("initialize", &json!({"capabilities": capabilities}));
    assert_eq!(
        answer["result"]["capabilities"]["positionEncoding"],
        "utf-8"
    );
    client.open(&uri, "user: \"你好😀 {{na\"\n$prnt: x\n");
    let found = client.findings(&uri, 1);
    assert_eq!(found[0]["range"], range(0, 18, 20), "{found:?}");
}

#[test]
fn tests_of_scripts_are_looked_at_and_other_files_are_not() {
    let place = Place::new();
    let mut client = Client::ready(&place);
    let fixture = uri(&place, "main.fixture.yaml");
    client.open(&fixture, "- input: a\n  expect: {contans: b}\n");
    let found = client.findings(&fixture, 1);
    assert_eq!(found[0]["code"], "test.expected");
    assert_eq!(found[0]["range"], range(1, 11, 18));
    let other = uri(&place, "compose.yaml");
    client.open(&other, "$prnt: [");
    assert_eq!(client.findings(&other, 1), Vec::<Value>::new());
    assert_eq!(client.at("hover", &other, 0, 2), Value::Null);
    let long = uri(&place, "long.ai.yaml");
    client.open(&long, &"user: hello\n".repeat(100_000));
    assert_eq!(client.findings(&long, 1)[0]["code"], "editor.limit");
    assert_eq!(client.at("hover", &long, 0, 2), Value::Null);
}

#[test]
fn what_is_no_message_gets_an_error_and_ends_nothing() {
    let place = Place::new();
    let mut client = Client::start(&place);
    let early = client.ask("textDocument/hover", &json!({}));
    assert_eq!(early["error"]["code"], -32002);
    assert!(client.ask("initialize", &json!({"capabilities": {}}))["result"].is_object());
    let nobody = Value::Null;
    for nonsense in [
        "hello\r\n\r\n",
        "Content-Length: 4\r\n\r\n{]{}",
        "Content-Length: 99999999999999999999\r\n\r\n",
    ] {
        client.raw(nonsense);
        assert_eq!(
            client.answer(&nobody)["error"]["code"],
            -32700,
            "{nonsense:?}"
        );
    }
    for message in [
        json!([]),
        json!("x"),
        json!({"method": 5}),
        json!([{"id": 1, "method": "x"}]),
    ] {
        client.send(&message);
        assert_eq!(client.answer(&nobody)["error"]["code"], -32600, "{message}");
    }
    assert_eq!(
        client.ask("initialize", &json!({}))["error"]["code"],
        -32600
    );
    assert_eq!(
        client.ask("textDocument/dream", &json!({}))["error"]["code"],
        -32601
    );
    assert_eq!(
        client.ask("textDocument/hover", &json!(7))["error"]["code"],
        -32602
    );
    let closed = json!({"textDocument": {"uri": "file:///nowhere"}, "position": {"line": 0, "character": 0}});
    assert_eq!(
        client.ask("textDocument/hover", &closed)["error"]["code"],
        -32602
    );
    client.tell("textDocument/didChange", &json!({"textDocument": 5}));
    client.tell("$/cancelRequest", &json!({"id": 1}));
    client.tell("no/such", &json!(null));
    let uri = uri(&place, "a.ai.yaml");
    client.open(&uri, "user: hi\n");
    client.change(&uri, 2, &range(99, 99, 99), "\n\u{0}");
    client.change(
        &uri,
        3,
        &json!({"start": {"line": 2, "character": 0}, "end": {"line": 0, "character": 0}}),
        "x",
    );
    assert!(client.at("hover", &uri, 0, 7).is_object());
    assert_eq!(client.ask("shutdown", &json!(null))["result"], Value::Null);
    assert_eq!(
        client.ask("shutdown", &json!(null))["error"]["code"],
        -32600
    );
    client.tell("exit", &json!(null));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_end_without_a_shutdown_is_a_failure() {
    let place = Place::new();
    assert_eq!(Client::ready(&place).end(), Some(1), "the pipe was closed");
    let mut client = Client::ready(&place);
    client.tell("exit", &json!(null));
    assert_eq!(client.end(), Some(1));
}
