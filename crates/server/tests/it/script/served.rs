//! A server for a folder of scripts, with a scripted provider.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quillet_core::chat::ChatModel;
use quillet_core::store::Store;
use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript, ScriptedReply};
use quillet_host::script::{ScriptModels, ScriptOptions, ScriptService, StoredScripts};
use quillet_llm::RetryPolicy;
use quillet_llm::models::{ModelRouter, ModelSettings, VendorSettings};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_script::host::NoTools;
use quillet_script::js::{Transport, WorkerProgram, serve_process};
use quillet_server::{HttpServer, ServerConfig};
use quillet_store::{FolderStore, StoreOptions};
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::client::{self, Answer};

/// A server that runs scripts, with its folder and provider.
pub(super) struct Served {
    pub(super) address: SocketAddr,
    pub(super) provider: FakeProvider,
    pub(super) service: Arc<PromptService>,
    pub(super) folder: Folder,
    running: Vec<JoinHandle<()>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        for task in &self.running {
            task.abort();
        }
    }
}

/// A folder that is removed on drop.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quillet-scripts-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Starts this test program as a worker that runs only the test `worker`.
pub(super) fn worker_program() -> Transport {
    let arguments = [
        "--exact",
        "script::served::worker",
        "--nocapture",
        "--test-threads=1",
    ];
    Transport::Process(WorkerProgram {
        path: std::env::current_exe().unwrap(),
        arguments: arguments.map(str::to_owned).to_vec(),
    })
}

/// The worker of these tests. It does nothing unless `worker_program` started the process.
#[test]
fn worker() {
    if std::env::args().any(|argument| argument == "script::served::worker") {
        serve_process(std::io::stdin(), std::io::stdout(), || {
            std::process::exit(0)
        })
        .unwrap();
        std::process::exit(0);
    }
}

pub(super) fn options() -> ScriptOptions {
    ScriptOptions::with_javascript(worker_program())
}

/// Starts a server for these files and a provider that sends these replies in order.
pub(super) async fn serve(
    files: &[(&str, &str)],
    turns: impl IntoIterator<Item = ScriptedReply>,
) -> Served {
    serve_with(files, ReplyScript::turns(turns), options()).await
}

pub(super) async fn serve_with(
    files: &[(&str, &str)],
    answers: ReplyScript,
    options: ScriptOptions,
) -> Served {
    let folder = Folder::new();
    folder.write("environs/vscode/lang.json", "\"go\"");
    for (file, text) in files {
        folder.write(file, text);
    }
    let store = FolderStore::open(folder.path(), &StoreOptions::default()).await;
    serve_over(Arc::new(store.unwrap()), folder, answers, options).await
}

pub(super) async fn serve_over(
    store: Arc<dyn Store>,
    folder: Folder,
    answers: ReplyScript,
    options: ScriptOptions,
) -> Served {
    let provider = FakeProvider::start(answers);
    let models = Arc::new(models(&provider));
    let catalogue = Catalogue::new(
        store.clone(),
        TemplateFactory::standard(),
        Arc::new(EchoTools),
        100,
    );
    let model: Arc<dyn ChatModel> = models.clone();
    let service = Arc::new(PromptService::new(
        catalogue.with_scripts(Arc::new(StoredScripts)),
        Variables::new(store),
        Some(model),
        ServiceOptions::default(),
    ));
    let models = Arc::new(ScriptModels::new(models));
    ScriptService::run_for(&service, models, Arc::new(NoTools), options);
    service.load().await.unwrap();
    let config = ServerConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        ..ServerConfig::default()
    };
    let server = HttpServer::bind(config, service.clone()).await.unwrap();
    let address = server.local_addr();
    let watched = service.clone();
    Served {
        address,
        provider,
        service,
        folder,
        running: vec![
            tokio::spawn(async move { watched.watch().await }),
            tokio::spawn(async move {
                server.run(std::future::pending()).await;
            }),
        ],
    }
}

fn models(provider: &FakeProvider) -> ModelRouter {
    ModelRouter::new(ModelSettings {
        openai: VendorSettings {
            api_key: Some("sk-upstream".into()),
            base_url: Some(provider.base_url(ProviderApi::OpenAiChat)),
            headers: Vec::new(),
        },
        default_model: Some("gpt-4o".into()),
        retries: RetryPolicy::doubling(0, Duration::ZERO),
        ..ModelSettings::default()
    })
    .unwrap()
}

impl Served {
    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        client::post(self.address, path, &body.to_string()).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        client::get(self.address, path).await
    }

    /// Returns the result of a script over the route for prompts.
    pub(super) async fn result(&self, id: &str, variables: Value) -> Value {
        let body = serde_json::json!({"variables": variables});
        let answer = self.post(&format!("/api/chat/prompts/{id}"), &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["script"]["result"].clone()
    }

    /// Returns the chunks of a stream and checks for the final `[DONE]`.
    pub(super) async fn chunks(&self, path: &str, body: &Value) -> Vec<Value> {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut events = answer.events();
        assert_eq!(events.pop(), Some("[DONE]"), "{}", answer.body);
        let read = |data: &str| serde_json::from_str(data).unwrap();
        events.into_iter().map(read).collect()
    }

    /// Returns the messages of each request to the provider, as `role: content`.
    pub(super) fn asked(&self) -> Vec<Vec<String>> {
        let requests = self.provider.requests();
        let texts = requests.iter().map(|asked| said(&asked.json()["messages"]));
        texts.collect()
    }
}

/// Returns messages as `role: content`.
pub(super) fn said(messages: &Value) -> Vec<String> {
    let list = messages.as_array().unwrap();
    let text = |message: &Value| {
        let part = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", part("role"), part("content"))
    };
    list.iter().map(text).collect()
}

/// Joins the text in the chunks.
pub(super) fn content(chunks: &[Value]) -> String {
    let texts = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    texts.collect()
}
