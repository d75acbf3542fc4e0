//! Journaled tools of a script. Network access is one of them.

use std::future::pending;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quillet_agent::{Approval, PendingCall};
use quillet_core::history::Digest;
use quillet_core::tool::{
    Idempotency, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind, ToolSpec,
};
use quillet_core::web::{WebAnswer, WebRequest};
use quillet_core::{BoxFuture, Map, Value};
use quillet_script::host::{FETCH, Network, Tools};
use quillet_script::run::call_sequence;

use crate::agent::durable::{
    ApprovalGate, JournalledTool, RunJournal, ScriptApproval, value_of, written,
};

/// State that all tools of a run share.
#[derive(Debug)]
pub(super) struct JournalContext {
    pub(super) book: Arc<RunJournal>,
    pub(super) gate: ApprovalGate,
    /// Prefix of call ids.
    pub(super) id: String,
}

impl JournalContext {
    /// Returns the id of the call at a position: unique, and the same in every replay.
    fn id(&self, place: &str) -> String {
        let digest = Digest::of(format!("{} {place}", self.id).as_bytes()).to_string();
        format!("call_{}", digest.get(..24).unwrap_or(&digest))
    }
}

/// Tools of scripts behind the journal.
#[derive(Debug)]
pub(super) struct JournaledTools {
    pub(super) inner: Arc<dyn Tools>,
    pub(super) keeping: Arc<JournalContext>,
}

impl JournaledTools {
    fn way_out(&self, asks: bool) -> Option<Arc<dyn Network>> {
        let network = self.inner.network()?;
        Some(Arc::new(JournaledNetwork {
            network,
            keeping: self.keeping.clone(),
            asks,
        }))
    }
}

impl Tools for JournaledTools {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let inner = self.inner.tool(name)?;
        Some(wrap_tool(inner, &self.keeping, false))
    }

    fn approved_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let inner = self.inner.tool(name)?;
        Some(wrap_tool(inner, &self.keeping, true))
    }

    fn approved_network(&self) -> Option<Arc<dyn Network>> {
        self.way_out(true)
    }

    fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    fn network(&self) -> Option<Arc<dyn Network>> {
        self.way_out(false)
    }

    fn has_unasked(&self) -> bool {
        self.inner.has_unasked()
    }
}

fn wrap_tool(inner: Arc<dyn Tool>, keeping: &Arc<JournalContext>, asks: bool) -> Arc<dyn Tool> {
    Arc::new(JournaledTool {
        journalled: JournalledTool::new(inner, keeping.book.clone()),
        keeping: keeping.clone(),
        asks,
    })
}

/// A journaled tool of a script.
#[derive(Debug)]
struct JournaledTool {
    journalled: JournalledTool,
    keeping: Arc<JournalContext>,
    /// Whether the script itself requires an approval.
    asks: bool,
}

impl JournaledTool {
    async fn make(&self, arguments: Map, context: &ToolContext) -> Result<ToolAnswer, ToolError> {
        let Some(place) = call_sequence::next_place() else {
            let message = "unexpected tool call: it is not part of the durable script";
            return Err(ToolError::new(ToolErrorKind::Protocol, message));
        };
        let book = &self.keeping.book;
        let Some(busy) = book.enter() else {
            return pending().await;
        };
        let id = self.keeping.id(&place);
        let tool = &self.spec().name;
        let mut given = written(&arguments);
        let known = book.call(&id);
        if let Some((before, with)) = &known.called
            && (**before != **tool || with.as_ref().is_some_and(|with| *with != given))
        {
            book.diverge(format!(
                "call {id} of {before} differs from the recorded one"
            ));
            drop(busy);
            return pending().await;
        }
        if known.result.is_none() {
            call_sequence::go_live();
        }
        let call = PendingCall {
            id: &id,
            tool: self.spec(),
            arguments: &given,
        };
        match self.keeping.gate.decide(call, self.asks) {
            Approval::Make => {}
            Approval::MakeWith(arguments) => given = arguments,
            Approval::Deny(text) => return Err(ToolError::new(ToolErrorKind::Refused, text)),
            Approval::Answer(text) => {
                return Ok(ToolAnswer {
                    value: value_of(&text),
                    images: Vec::new(),
                });
            }
            Approval::Wait { why } => {
                book.wait(ScriptApproval {
                    call: id,
                    tool: tool.clone(),
                    arguments: given,
                    why,
                });
                drop(busy);
                return pending().await;
            }
        }
        let context = ToolContext {
            call: id.into(),
            ..context.clone()
        };
        let is_known = known.result.is_some();
        if !is_known && self.journalled.is_held(&context.call, &given) {
            book.mark_held();
            drop(busy);
            return pending().await;
        }
        let arguments = match Value::from(serde_json::Value::Object(given)) {
            Value::Map(map) => map,
            _ => arguments,
        };
        let answer = self.journalled.call_for_model(arguments, &context).await;
        drop(busy);
        answer
    }
}

impl Tool for JournaledTool {
    fn spec(&self) -> &ToolSpec {
        self.journalled.spec()
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move { Ok(self.make(arguments, context).await?.value) })
    }

    fn call_for_model<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(self.make(arguments, context))
    }
}

/// Journaled network access of scripts.
#[derive(Debug)]
struct JournaledNetwork {
    network: Arc<dyn Network>,
    keeping: Arc<JournalContext>,
    asks: bool,
}

impl Network for JournaledNetwork {
    fn fetch(&self, request: WebRequest) -> BoxFuture<'_, Result<WebAnswer, String>> {
        Box::pin(async move {
            let arguments = asked(&request);
            let fetching = PendingFetch::new(self.network.clone(), request);
            let tool = wrap_tool(Arc::new(fetching), &self.keeping, self.asks);
            let answer = tool.call(arguments, &ToolContext::default()).await;
            let answer = answer.map_err(|error| error.message)?;
            answered(&answer).ok_or_else(|| "invalid answer in the run's journal".to_owned())
        })
    }
}

/// An HTTP request in the form of a tool.
#[derive(Debug)]
struct PendingFetch {
    spec: ToolSpec,
    network: Arc<dyn Network>,
    request: WebRequest,
}

impl PendingFetch {
    fn new(network: Arc<dyn Network>, request: WebRequest) -> Self {
        let reads = matches!(
            request.method.to_ascii_uppercase().as_str(),
            "" | "GET" | "HEAD" | "OPTIONS"
        );
        let spec = ToolSpec {
            name: FETCH.to_owned(),
            repeat: if reads {
                Idempotency::Freely
            } else {
                Idempotency::Never
            },
            ..ToolSpec::default()
        };
        PendingFetch {
            spec,
            network,
            request,
        }
    }
}

impl Tool for PendingFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Map, _: &'a ToolContext) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let fetched = self.network.fetch(self.request.clone()).await;
            let fetched =
                fetched.map_err(|message| ToolError::new(ToolErrorKind::Transport, message))?;
            Ok(keepable(fetched))
        })
    }
}

/// Recorded form of a request. Headers may contain keys, so only their digest is stored.
fn asked(request: &WebRequest) -> Map {
    let headers = Digest::of(format!("{:?}", request.headers).as_bytes()).to_string();
    let body = request.body.as_deref().unwrap_or_default();
    Map::from_iter([
        ("method", Value::from(request.method.as_str())),
        ("url", Value::from(request.url.as_str())),
        ("headers_sha256", Value::from(headers)),
        ("body", Value::from(STANDARD.encode(body))),
    ])
}

fn keepable(answer: WebAnswer) -> Value {
    let headers = answer.headers.into_iter();
    let headers =
        headers.map(|(name, value)| Value::from(vec![Value::from(name), Value::from(value)]));
    Value::Map(Map::from_iter([
        ("status", Value::Int(answer.status.into())),
        ("url", Value::from(answer.url)),
        ("headers", Value::from(headers.collect::<Vec<Value>>())),
        ("body", Value::from(STANDARD.encode(answer.body))),
    ]))
}

fn answered(kept: &Value) -> Option<WebAnswer> {
    let kept = kept.as_map()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let Some(Value::Int(status)) = kept.get("status") else {
        return None;
    };
    let Some(Value::List(headers)) = kept.get("headers") else {
        return None;
    };
    let header = |pair: &Value| match pair {
        Value::List(pair) => match pair.as_slice() {
            [name, value] => Some((text(name)?, text(value)?)),
            _ => None,
        },
        _ => None,
    };
    Some(WebAnswer {
        status: u16::try_from(*status).ok()?,
        url: text(kept.get("url")?)?,
        headers: headers
            .as_slice()
            .iter()
            .map(header)
            .collect::<Option<Vec<_>>>()?,
        body: STANDARD.decode(kept.get("body")?.as_str()?).ok()?,
    })
}
