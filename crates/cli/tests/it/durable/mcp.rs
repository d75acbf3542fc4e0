//! Approvals for agents that are called over MCP. The client shows a form.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, RequestContext, RoleClient, serve_client_with_lifecycle};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Value, json};

use super::World;
use crate::ask::reach;

/// A user with an MCP client.
#[derive(Clone, Default)]
struct Person {
    answers: Arc<Mutex<VecDeque<ElicitResult>>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
    shows_forms: bool,
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        if self.shows_forms {
            info.capabilities =
                serde_json::from_value(json!({"elicitation": {"form": {}}})).unwrap();
        }
        info
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = request
        else {
            panic!("{request:?}");
        };
        let schema = serde_json::to_value(requested_schema).unwrap();
        self.asked.lock().unwrap().push((message, schema));
        let answer = self.answers.lock().unwrap().pop_front();
        Ok(answer.expect("it is asked no more often"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Transport {
    Stdio,
    Http,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Revision {
    /// The older protocol: a handshake, and requests to the client during a call.
    Before,
    /// The newest protocol: independent requests, and questions in the result.
    Newest,
}

impl Revision {
    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Revision::Before => ClientLifecycleMode::Initialize,
            Revision::Newest => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }
}

fn accept(content: Value) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

async fn call(
    world: &World,
    transport: Transport,
    revision: Revision,
    person: &Person,
) -> (Vec<String>, CallToolResult) {
    let lifecycle = revision.lifecycle();
    let person = person.clone();
    let mut server = None;
    let client = match transport {
        Transport::Stdio => {
            let mut command = world.place.command(&["mcp", "--store", "dir:s"]);
            command.envs(reach(&world.provider));
            let child = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
            serve_client_with_lifecycle(person, child, lifecycle).await
        }
        Transport::Http => {
            let running = world.server();
            let address = format!("http://{}/mcp", running.address);
            server = Some(running);
            // An error means that another test has already installed the provider.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let http = StreamableHttpClientTransport::from_uri(address);
            serve_client_with_lifecycle(person, http, lifecycle).await
        }
    };
    let client = client.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    let names = tools.iter().map(|tool| tool.name.to_string()).collect();
    let arguments = json!({"question": "Do it"}).as_object().unwrap().clone();
    let request = CallToolRequestParams::new("agent_clerk").with_arguments(arguments);
    let result = client.call_tool(request).await.unwrap();
    client.cancel().await.unwrap();
    drop(server);
    (names, result)
}

fn text(result: &CallToolResult) -> String {
    let result = serde_json::to_value(result).unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

fn world() -> World {
    World::with("sqlite:journal.db", "", "ask: [send]\n")
}

/// Combinations of transport and protocol that support questions to the user.
const ASKED: [(Transport, Revision); 3] = [
    (Transport::Stdio, Revision::Before),
    (Transport::Stdio, Revision::Newest),
    (Transport::Http, Revision::Newest),
];

#[tokio::test(flavor = "multi_thread")]
async fn whoever_sits_before_the_client_decides() {
    for (transport, revision) in ASKED {
        let world = world();
        let person = Person {
            answers: Arc::new(Mutex::new(VecDeque::from([
                accept(json!({"decision": "approve"})),
                accept(json!({"decision": "deny", "note": "Not on a Sunday."})),
            ]))),
            shows_forms: true,
            ..Person::default()
        };
        let (names, result) = call(&world, transport, revision, &person).await;
        let about = format!("{transport:?} {revision:?}: {result:?}");
        assert!(names.contains(&"agent_clerk".to_owned()), "{names:?}");
        assert!(text(&result).ends_with("That is all."), "{about}");
        assert!(text(&result).contains("Not on a Sunday."), "{about}");
        let asked = person.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 2, "{about}");
        assert!(
            asked[0].0.contains("send") && asked[0].0.contains("10"),
            "{asked:?}"
        );
        assert_eq!(
            asked[0].1["properties"]["decision"]["enum"],
            json!(["approve", "deny"])
        );
        let made = world.tools.counts();
        assert_eq!(made.get("send 10"), Some(&1), "{made:?}");
        assert!(!made.contains_key("send 40"), "{made:?}");
        assert!(made.values().all(|count| *count == 1), "{made:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_is_a_decision_and_no_choice_is_none() {
    for (transport, revision) in ASKED {
        let world = world();
        let declines = || ElicitResult::new(ElicitationAction::Decline);
        let cancels = ElicitResult::new(ElicitationAction::Cancel);
        let person = Person {
            answers: Arc::new(Mutex::new(VecDeque::from([declines(), cancels]))),
            shows_forms: true,
            ..Person::default()
        };
        let (_, result) = call(&world, transport, revision, &person).await;
        let about = format!("{transport:?} {revision:?}: {result:?}");
        // The first call was denied, and the second is pending; the client learns where to decide.
        assert!(text(&result).contains("waits for a decision"), "{about}");
        let made = world.tools.counts();
        assert!(
            !made.keys().any(|call| call.starts_with("send")),
            "{made:?}"
        );
        assert!(made.contains_key("book 31"), "{made:?}");
        let listed = world
            .place
            .run(&["runs", "list", "--state", "waiting", "--store", "dir:s"]);
        assert!(listed.out.contains("agent/clerk"), "{about}: {listed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_shows_no_forms_is_told_what_waits() {
    let ways = [
        (Transport::Stdio, Revision::Before, false),
        (Transport::Stdio, Revision::Newest, false),
        (Transport::Http, Revision::Newest, false),
        // Requests of this protocol over HTTP are independent, so the client cannot be asked during
        // a call.
        (Transport::Http, Revision::Before, true),
    ];
    for (transport, revision, shows_forms) in ways {
        let world = world();
        let person = Person {
            shows_forms,
            ..Person::default()
        };
        let (_, result) = call(&world, transport, revision, &person).await;
        let about = format!("{transport:?} {revision:?}: {result:?}");
        assert!(
            text(&result).contains("waits for a decision about send"),
            "{about}"
        );
        assert!(person.asked.lock().unwrap().is_empty(), "{about}");
    }
}
