//! Connection to one editor: lifecycle, requests and notifications.
//!
//! Requests run concurrently, each on the documents as they were when it arrived. Diagnostics are
//! published after a short pause in typing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use quillet_script::editor::position::Encoding;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::answer::{DocumentRequest, RequestParams, TextDocumentId, findings};
use super::documents::{ContentChange, OpenDocument};
use super::uri;
use super::wire::{WireMessage, error, failure, notification, result};
use super::workspace::Workspace;

/// Pause in typing before diagnostics are published.
const PAUSE: Duration = Duration::from_millis(150);

/// Maximum number of concurrent requests. Further ones are rejected.
const MOST_OPEN: usize = 256;

/// Maximum number of open documents. Further ones are ignored.
const MOST_DOCUMENTS: usize = 1_000;

/// State of the language server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerState {
    /// Before `initialize`.
    New,
    /// Requests are answered.
    Ready,
    /// After `shutdown`, before `exit`.
    ShutDown,
    /// After `exit`.
    Ended {
        /// Whether `shutdown` came first, as the protocol requires.
        orderly: bool,
    },
}

/// Connection to one editor.
#[derive(Debug)]
pub(super) struct LspServer {
    workspace: Workspace,
    pub(super) state: ServerState,
    encoding: Encoding,
    watches: bool,
    documents: HashMap<Arc<str>, OpenDocument>,
    /// Times at which diagnostics of documents are published.
    due: HashMap<Arc<str>, Instant>,
    /// Running requests by their ids as JSON, with their tasks.
    running: HashMap<String, tokio::task::AbortHandle>,
    done: mpsc::UnboundedSender<TaskResult>,
    /// Messages to send.
    pub(super) out: Vec<Value>,
}

/// Result of a background task.
#[derive(Debug)]
pub(super) enum TaskResult {
    /// Id and result of a request.
    Answer(Value, Result<Value, (i64, String)>),
    /// One version of a document with its diagnostics.
    Findings(OpenDocument, Vec<Value>),
}

#[derive(Deserialize)]
struct DidOpen {
    #[serde(rename = "textDocument")]
    document: DidOpenParams,
}

#[derive(Deserialize)]
struct DidOpenParams {
    uri: String,
    version: Option<i64>,
    text: String,
}

#[derive(Deserialize)]
struct DidChange {
    #[serde(rename = "textDocument")]
    document: VersionedDocumentId,
    #[serde(rename = "contentChanges")]
    changes: Vec<ContentChange>,
}

#[derive(Deserialize)]
struct VersionedDocumentId {
    uri: String,
    version: Option<i64>,
}

#[derive(Deserialize)]
struct About {
    #[serde(rename = "textDocument")]
    document: TextDocumentId,
}

impl LspServer {
    pub(super) fn new(workspace: Workspace, done: mpsc::UnboundedSender<TaskResult>) -> Self {
        LspServer {
            workspace,
            state: ServerState::New,
            encoding: Encoding::default(),
            watches: false,
            documents: HashMap::new(),
            due: HashMap::new(),
            running: HashMap::new(),
            done,
            out: Vec::new(),
        }
    }

    /// Returns the earliest time at which diagnostics are published.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.values().min().copied()
    }

    pub(super) fn frame(&mut self, frame: WireMessage) {
        match frame {
            WireMessage::Message(message) => self.message(message),
            WireMessage::Nonsense(why) => self.refuse(&Value::Null, error::PARSE, &why),
            WireMessage::End => {
                let orderly = self.state == ServerState::ShutDown;
                self.state = ServerState::Ended { orderly };
            }
        }
    }

    fn message(&mut self, mut message: Value) {
        let id = message
            .get("id")
            .filter(|id| id.is_string() || id.is_number())
            .cloned();
        let params = message
            .get_mut("params")
            .map(Value::take)
            .unwrap_or_default();
        let method = message.get("method").and_then(Value::as_str);
        match (method, id) {
            (Some(method), Some(id)) => self.request(method, id, params),
            (Some(method), None) => self.notified(method, params),
            // The client responds to a request of this server. The response is not needed.
            (None, Some(_))
                if message.get("result").is_some() || message.get("error").is_some() => {}
            (None, id) => {
                let id = id.unwrap_or_default();
                self.refuse(
                    &id,
                    error::INVALID_REQUEST,
                    "invalid message: expected an object with a method",
                );
            }
        }
    }

    fn refuse(&mut self, id: &Value, code: i64, why: &str) {
        self.out.push(failure(id, code, why));
    }

    fn request(&mut self, method: &str, id: Value, params: Value) {
        match (self.state, method) {
            (ServerState::New, "initialize") => self.initialize(&id, &params),
            (ServerState::New, _) => self.refuse(
                &id,
                error::NOT_INITIALIZED,
                "expected an initialize request first",
            ),
            (ServerState::Ready, "initialize") => self.refuse(
                &id,
                error::INVALID_REQUEST,
                "the server is already initialized",
            ),
            (ServerState::Ready, "shutdown") => {
                self.state = ServerState::ShutDown;
                self.out.push(result(&id, &Value::Null));
            }
            (ServerState::Ready, method) => match DocumentRequest::of(method) {
                Some(question) => self.question(question, id, params),
                None => {
                    let why = format!("unknown method {method:?}");
                    self.refuse(&id, error::UNKNOWN_METHOD, &why);
                }
            },
            (ServerState::ShutDown | ServerState::Ended { .. }, _) => {
                self.refuse(&id, error::INVALID_REQUEST, "the server is shut down");
            }
        }
    }

    fn initialize(&mut self, id: &Value, params: &Value) {
        self.state = ServerState::Ready;
        let encodings = params.pointer("/capabilities/general/positionEncodings");
        let encodings = encodings.and_then(Value::as_array).into_iter().flatten();
        let known = encodings.filter_map(|name| match name.as_str()? {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            _ => None,
        });
        // The client lists encodings by preference. Without a list, the protocol requires UTF-16.
        self.encoding = known.into_iter().next().unwrap_or_default();
        let watch = "/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration";
        self.watches = params.pointer(watch) == Some(&Value::Bool(true));
        let folders = params.get("workspaceFolders").and_then(Value::as_array);
        let folders = folders
            .into_iter()
            .flatten()
            .filter_map(|folder| folder.get("uri"));
        for folder in folders.chain(params.get("rootUri")) {
            if let Some(path) = folder.as_str().and_then(uri::path) {
                self.workspace.add_root(path);
            }
        }
        self.out.push(result(id, &capabilities(self.encoding)));
    }

    fn question(&mut self, question: DocumentRequest, id: Value, params: Value) {
        let params: RequestParams = match serde_json::from_value(params) {
            Ok(params) => params,
            Err(why) => return self.refuse(&id, error::INVALID_PARAMS, &why.to_string()),
        };
        let Some(open) = self.documents.get(params.text_document.uri.as_str()) else {
            let why = format!("{} is not open", params.text_document.uri);
            return self.refuse(&id, error::INVALID_PARAMS, &why);
        };
        if self.running.len() >= MOST_OPEN {
            return self.refuse(&id, error::FAILED, "too many requests are pending");
        }
        let snapshot = self.workspace.snapshot(open, &self.documents);
        let (done, encoding, key) = (self.done.clone(), self.encoding, id.to_string());
        // The request runs in its own task, so that a slow answer does not block typing and can be
        // cancelled.
        let task = tokio::spawn(async move {
            let answer = question.answer(&snapshot, &params, encoding).await;
            // The connection may have ended.
            let _ = done.send(TaskResult::Answer(id, answer));
        });
        self.running.insert(key, task.abort_handle());
    }

    fn notified(&mut self, method: &str, params: Value) {
        match (self.state, method) {
            (state, "exit") => {
                let orderly = state == ServerState::ShutDown;
                self.state = ServerState::Ended { orderly };
            }
            (ServerState::Ready, "initialized") => self.watch(),
            (ServerState::Ready, "textDocument/didOpen") => self.read(params, LspServer::opened),
            (ServerState::Ready, "textDocument/didChange") => self.read(params, LspServer::changed),
            (ServerState::Ready, "textDocument/didClose") => self.read(params, LspServer::closed),
            (ServerState::Ready, "textDocument/didSave" | "workspace/didChangeWatchedFiles") => {
                // Other files may have changed, so the libraries must be read again.
                self.workspace.forget();
                self.all_due();
            }
            (_, "$/cancelRequest") => self.cancel(params.get("id").unwrap_or(&Value::Null)),
            // Unknown notifications are ignored (JSON-RPC).
            _ => {}
        }
    }

    /// Handles a notification with parameters. Invalid parameters are ignored.
    fn read<P: DeserializeOwned>(&mut self, params: Value, then: fn(&mut Self, P)) {
        if let Ok(params) = serde_json::from_value(params) {
            then(self, params);
        }
    }

    fn watch(&mut self) {
        if self.watches {
            let watchers = json!([{"globPattern": "**/*.{ai.yaml,ai.yml,js,mjs,wasm}"}]);
            let registration = json!({
                "id": "files",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": {"watchers": watchers},
            });
            let mut asked = notification(
                "client/registerCapability",
                &json!({"registrations": [registration]}),
            );
            asked["id"] = json!("quillet-files");
            self.out.push(asked);
        }
    }

    fn opened(&mut self, params: DidOpen) {
        let DidOpenParams { uri, version, text } = params.document;
        if self.documents.len() < MOST_DOCUMENTS {
            self.put(OpenDocument::new(&uri, version, text, self.encoding));
        }
    }

    fn changed(&mut self, params: DidChange) {
        let VersionedDocumentId { uri, version } = params.document;
        if let Some(open) = self.documents.get(uri.as_str()) {
            let open = open.changed(version, params.changes, self.encoding);
            self.put(open);
        }
    }

    fn put(&mut self, open: OpenDocument) {
        // Each change postpones the check, so nothing is checked while the user types.
        self.due.insert(open.uri.clone(), Instant::now() + PAUSE);
        self.documents.insert(open.uri.clone(), open);
    }

    fn closed(&mut self, params: About) {
        let uri = params.document.uri;
        if let Some(open) = self.documents.remove(uri.as_str()) {
            self.due.remove(&open.uri);
            // An empty list removes the diagnostics from the editor.
            self.publish(&open, &[]);
        }
    }

    fn all_due(&mut self) {
        let now = Instant::now();
        let all = self.documents.keys().map(|uri| (uri.clone(), now + PAUSE));
        self.due = all.collect();
    }

    fn cancel(&mut self, id: &Value) {
        if let Some(task) = self.running.remove(&id.to_string()) {
            task.abort();
            self.refuse(id, error::CANCELLED, "cancelled");
        }
    }

    /// Computes diagnostics for all documents whose pause is over.
    pub(super) fn publish_due(&mut self) {
        let now = Instant::now();
        let ready: Vec<Arc<str>> = self
            .due
            .extract_if(|_, due| *due <= now)
            .map(|(uri, _)| uri)
            .collect();
        for uri in ready {
            let Some(open) = self.documents.get(&uri) else {
                continue;
            };
            let snapshot = self.workspace.snapshot(open, &self.documents);
            let done = self.done.clone();
            tokio::spawn(async move {
                let found = findings(&snapshot).await;
                // Sending fails only if the server has ended.
                let _ = done.send(TaskResult::Findings(snapshot.open, found));
            });
        }
    }

    pub(super) fn done(&mut self, done: TaskResult) {
        match done {
            TaskResult::Answer(id, answer) => {
                // A cancelled request was answered already, and each request has one answer.
                if self.running.remove(&id.to_string()).is_none() {
                    return;
                }
                self.out.push(match answer {
                    Ok(value) => result(&id, &value),
                    Err((code, why)) => failure(&id, code, &why),
                });
            }
            TaskResult::Findings(open, found) => {
                let now = self.documents.get(&open.uri);
                // If the document has changed, new diagnostics follow soon.
                if now.is_some_and(|now| Arc::ptr_eq(&now.source, &open.source)) {
                    self.publish(&open, &found);
                }
            }
        }
    }

    fn publish(&mut self, open: &OpenDocument, found: &[Value]) {
        let mut params = json!({"uri": &*open.uri, "diagnostics": found});
        if let Some(version) = open.version {
            params["version"] = version.into();
        }
        self.out
            .push(notification("textDocument/publishDiagnostics", &params));
    }
}

fn capabilities(encoding: Encoding) -> Value {
    let encoding = match encoding {
        Encoding::Utf16 => "utf-16",
        Encoding::Utf8 => "utf-8",
    };
    json!({
        "capabilities": {
            "positionEncoding": encoding,
            "textDocumentSync": {"openClose": true, "change": 2, "save": true},
            "hoverProvider": true,
            "completionProvider": {"triggerCharacters": ["$", "{", "[", "@", "(", ":", ">", " "]},
            "definitionProvider": true,
            "referencesProvider": true,
            "renameProvider": true,
            "documentSymbolProvider": true,
            "foldingRangeProvider": true,
            "documentFormattingProvider": true,
        },
        "serverInfo": {"name": "quillet", "version": env!("CARGO_PKG_VERSION")},
    })
}
