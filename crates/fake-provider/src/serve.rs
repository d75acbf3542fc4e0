//! Connections, requests, and bodies that execute a plan.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Sleep;

use crate::batches::Batches;
use crate::content_type::json_type;
use crate::embeddings;
use crate::fault::{ErrorResponse, InjectedFault};
use crate::named;
use crate::plan::{BodyAction, PreResponseAction, ResponsePlan};
use crate::provider_api::ProviderApi;
use crate::request::RecordedRequest;
use crate::script::ReplyScript;

/// The maximum number of cached responses.
const MOST_PLANS: usize = 256;

/// State shared by all connections.
pub(crate) struct ServerState {
    script: ReplyScript,
    remembered: usize,
    requests: Mutex<VecDeque<RecordedRequest>>,
    plans: Mutex<HashMap<PlanKey, Arc<ResponsePlan>>>,
    batches: Batches,
    counts: watch::Sender<RequestCounts>,
    /// The index of the next request.
    number: AtomicUsize,
}

/// Counts of requests and responses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestCounts {
    pub(crate) asked: usize,
    pub(crate) left: usize,
    /// Responses in progress.
    pub(crate) open: usize,
}

/// Identifies requests that get the same response.
type PlanKey = (ProviderApi, String, bool, bool);

impl ServerState {
    pub(crate) fn new(script: ReplyScript, remembered: usize) -> Self {
        ServerState {
            script,
            remembered,
            requests: Mutex::default(),
            plans: Mutex::default(),
            batches: Batches::default(),
            counts: watch::Sender::new(RequestCounts::default()),
            number: AtomicUsize::new(0),
        }
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.requests).iter().cloned().collect()
    }

    pub(crate) fn counts(&self) -> RequestCounts {
        *self.counts.borrow()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<RequestCounts> {
        self.counts.subscribe()
    }

    fn remember(&self, asked: &RecordedRequest) {
        if self.remembered == 0 {
            return;
        }
        let mut requests = lock(&self.requests);
        // Bounded, because a load test sends millions of requests.
        if requests.len() == self.remembered {
            requests.pop_front();
        }
        requests.push_back(asked.clone());
    }

    /// Returns the counts of this process. The request for them is not counted.
    fn told(&self) -> ResponsePlan {
        let RequestCounts { asked, left, open } = self.counts();
        let body = json!({"asked": asked, "left": left, "open": open});
        ResponsePlan::json(200, vec![json_type()], body.to_string().into())
    }

    /// Returns the number of rows in all batches.
    pub(crate) fn batch_rows(&self) -> usize {
        self.batches.rows()
    }

    fn plan(&self, asked: &RecordedRequest) -> Arc<ResponsePlan> {
        if let Some(plan) = self.batches.answer(asked, &self.script) {
            return Arc::new(plan);
        }
        let Some(wire) = asked.wire.filter(|_| asked.method == "POST") else {
            return Arc::new(elsewhere(asked));
        };
        if !named::always_alike(&asked.model) {
            return Arc::new(ResponsePlan::new(wire, &self.script.answer(asked), asked));
        }
        let kind = (
            wire,
            asked.model.clone(),
            asked.streaming,
            asked.include_usage,
        );
        // Benchmarks send the same request many times. A cached plan keeps the provider from being
        // the bottleneck.
        let mut plans = lock(&self.plans);
        if let Some(plan) = plans.get(&kind) {
            return plan.clone();
        }
        let plan = Arc::new(ResponsePlan::new(wire, &self.script.answer(asked), asked));
        if plans.len() < MOST_PLANS {
            plans.insert(kind, plan.clone());
        }
        plan
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers paths that belong to none of the provider APIs.
fn elsewhere(asked: &RecordedRequest) -> ResponsePlan {
    let body = match (asked.method.as_str(), asked.path.rsplit('/').next()) {
        ("POST", Some("embeddings")) => match named::turn(asked).and_then(|turn| turn.fault) {
            Some(InjectedFault::Refuse(refusal)) => return refused(&refusal, asked),
            _ => embeddings::answer(asked),
        },
        ("GET", Some("models")) => {
            let model =
                json!({"id": "fake-text-20", "object": "model", "created": 0, "owned_by": "fake"});
            json!({"object": "list", "data": [model]})
        }
        _ => return refused(&ErrorResponse::NotFound, asked),
    };
    ResponsePlan::json(200, vec![json_type()], body.to_string().into())
}

fn refused(refusal: &ErrorResponse, asked: &RecordedRequest) -> ResponsePlan {
    let (status, headers, body) = ProviderApi::OpenAiChat.refuse(refusal, asked);
    ResponsePlan::json(status, headers, body.into())
}

/// Accepts connections until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, state: Arc<ServerState>) {
    for number in 0.. {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let _ = stream.set_nodelay(true);
        let line = Arc::new(ConnectionHandle {
            number,
            reset: AtomicBool::new(false),
        });
        tokio::spawn(connection(stream, line, state.clone()));
    }
}

/// One connection.
struct ConnectionHandle {
    number: usize,
    /// Whether the connection ends with a reset.
    reset: AtomicBool,
}

async fn connection(stream: TcpStream, line: Arc<ConnectionHandle>, state: Arc<ServerState>) {
    let socket = Socket {
        stream,
        line: line.clone(),
    };
    let service = service_fn(move |request| answer(request, line.clone(), state.clone()));
    // The client sees the same error, so it is not reported here.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(socket), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    line: Arc<ConnectionHandle>,
    state: Arc<ServerState>,
) -> io::Result<Response<ScriptedBody>> {
    let (head, body) = request.into_parts();
    if head.method == Method::HEAD {
        return Err(io::Error::other("HEAD"));
    }
    if head.uri.path() == "/fake/counts" {
        return respond(Arc::new(state.told()), line, None);
    }
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let number = state.number.fetch_add(1, Ordering::Relaxed);
    let asked = RecordedRequest::new(number, line.number, &head, body);
    let guard = Guard::new(state.clone());
    state.remember(&asked);
    play(state.plan(&asked), line, guard).await
}

async fn play(
    plan: Arc<ResponsePlan>,
    line: Arc<ConnectionHandle>,
    mut guard: Guard,
) -> io::Result<Response<ScriptedBody>> {
    match &plan.before {
        PreResponseAction::Wait(time) if time.is_zero() => {}
        PreResponseAction::Wait(time) => tokio::time::sleep(*time).await,
        PreResponseAction::Hang => std::future::pending().await,
        PreResponseAction::Reset => {
            guard.end();
            line.reset.store(true, Ordering::Relaxed);
            return Err(io::Error::other("a reset, as the script says"));
        }
    }
    respond(plan, line, Some(guard))
}

fn respond(
    plan: Arc<ResponsePlan>,
    line: Arc<ConnectionHandle>,
    guard: Option<Guard>,
) -> io::Result<Response<ScriptedBody>> {
    let mut response = Response::builder().status(plan.status);
    for (name, value) in &plan.headers {
        response = response.header(name, value);
    }
    let body = ScriptedBody {
        plan,
        line,
        guard,
        next: 0,
        repeated: 0,
        sleep: None,
    };
    response.body(body).map_err(io::Error::other)
}

/// Counts one request and its response. A drop before the end of the response means that the client
/// disconnected.
struct Guard {
    state: Arc<ServerState>,
    done: bool,
}

impl Guard {
    fn new(state: Arc<ServerState>) -> Self {
        state.counts.send_modify(|counts| {
            counts.asked += 1;
            counts.open += 1;
        });
        Guard { state, done: false }
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.done, true) {
            self.state.counts.send_modify(|counts| counts.open -= 1);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.done {
            self.state.counts.send_modify(|counts| {
                counts.open -= 1;
                counts.left += 1;
            });
        }
    }
}

/// A body that executes a plan.
struct ScriptedBody {
    plan: Arc<ResponsePlan>,
    line: Arc<ConnectionHandle>,
    /// `None` if the response is not counted.
    guard: Option<Guard>,
    next: usize,
    repeated: usize,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl ScriptedBody {
    /// Moves to the next step. The response ends after the last one.
    fn advance(&mut self) {
        self.next += 1;
        if self.next == self.plan.steps.len() {
            self.end();
        }
    }

    fn end(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.end();
        }
    }

    fn broken(&mut self) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.end();
        Poll::Ready(Some(Err(io::Error::other("the end, as the script says"))))
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let plan = self.plan.clone();
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(context));
                self.sleep = None;
            }
            let Some(step) = plan.steps.get(self.next) else {
                self.end();
                return Poll::Ready(None);
            };
            match step {
                BodyAction::Send(bytes) => {
                    self.advance();
                    return Poll::Ready(Some(Ok(Frame::data(bytes.clone()))));
                }
                BodyAction::Repeat(bytes, times) if self.repeated < *times => {
                    self.repeated += 1;
                    return Poll::Ready(Some(Ok(Frame::data(bytes.clone()))));
                }
                BodyAction::Repeat(..) => {
                    self.repeated = 0;
                    self.advance();
                }
                BodyAction::Wait(time) => {
                    self.sleep = Some(Box::pin(tokio::time::sleep(*time)));
                    self.advance();
                }
                // Nothing wakes this body, and the end of the connection drops it.
                BodyAction::Hang => return Poll::Pending,
                BodyAction::Close => return self.broken(),
                BodyAction::Reset => {
                    self.line.reset.store(true, Ordering::Relaxed);
                    return self.broken();
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.plan
            .length
            .map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

/// A socket that can end with a reset.
struct Socket {
    stream: TcpStream,
    line: Arc<ConnectionHandle>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.line.reset.load(Ordering::Relaxed) {
            // Discards unsent bytes and sends a reset.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.line.reset.load(Ordering::Relaxed) {
            // A shutdown would send a FIN before the reset.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
