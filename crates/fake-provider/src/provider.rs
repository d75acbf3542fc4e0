//! The running server, as a test sees it.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::request::RecordedRequest;
use crate::script::ReplyScript;
use crate::serve::{ServerState, serve};
use crate::wire::ProviderApi;

/// The longest wait of a test for something to happen; after that it fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a provider runs.
#[derive(Clone, Copy, Debug)]
pub struct ProviderSettings {
    /// Where it listens. Default: a free port of 127.0.0.1.
    pub address: SocketAddr,
    /// How many requests it remembers. Default 10,000; the oldest are forgotten first.
    pub remembered: usize,
}

impl Default for ProviderSettings {
    fn default() -> Self {
        ProviderSettings {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            remembered: 10_000,
        }
    }
}

/// A running provider. Ends when it is dropped.
pub struct FakeProvider {
    address: SocketAddr,
    state: Arc<ServerState>,
    /// Of the provider's own thread, whose clock nobody stops.
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeProvider {
    /// Starts one on a free port.
    #[must_use]
    pub fn start(script: ReplyScript) -> Self {
        FakeProvider::start_with(script, ProviderSettings::default())
    }

    /// Starts one. Panics if it cannot listen.
    #[must_use]
    pub fn start_with(script: ReplyScript, settings: ProviderSettings) -> Self {
        let state = Arc::new(ServerState::new(script, settings.remembered));
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let serving = state.clone();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime");
            let handle = runtime.handle().clone();
            runtime.block_on(async {
                let listener = TcpListener::bind(settings.address).await;
                let listener = listener.expect("the address is free");
                let address = listener.local_addr().expect("it has an address");
                let _ = tell.send((address, handle));
                tokio::select! {
                    () = serve(listener, serving) => {}
                    _ = stopped => {}
                }
            });
        });
        let (address, runtime) = told.recv().expect("the provider listens");
        FakeProvider {
            address,
            state,
            runtime,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL of a wire, as its official SDK takes it: with `/v1` for both of
    /// OpenAI's, without a path for the others.
    #[must_use]
    pub fn base_url(&self, wire: ProviderApi) -> String {
        match wire {
            ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => {
                format!("http://{}/v1", self.address)
            }
            ProviderApi::Anthropic | ProviderApi::Gemini => format!("http://{}", self.address),
        }
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.state.requests()
    }

    /// How many requests there were.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.state.counts().asked
    }

    /// How many rows all batches have that were taken.
    #[must_use]
    pub fn batch_rows(&self) -> usize {
        self.state.batch_rows()
    }

    /// How many clients have left in the middle of an answer, or before it.
    #[must_use]
    pub fn left(&self) -> usize {
        self.state.counts().left
    }

    /// How many answers have begun and not ended. An answer ends when its last part is
    /// handed to the connection, or when the connection ends.
    #[must_use]
    pub fn open(&self) -> usize {
        self.state.counts().open
    }

    /// Waits until there were so many requests. Panics after 20 seconds.
    pub async fn until_asked(&self, count: usize) {
        self.wait("requests", count, |state| state.counts().asked)
            .await;
    }

    /// Waits until so many clients have left in the middle of an answer, or before
    /// it. Panics after 20 seconds.
    pub async fn disconnected(&self, count: usize) {
        self.wait("clients that left", count, |state| state.counts().left)
            .await;
    }

    async fn wait(&self, what: &str, count: usize, now: impl Fn(&ServerState) -> usize) {
        let state = self.state.clone();
        let mut changes = state.changes();
        let late = self.runtime.spawn(tokio::time::sleep(PATIENCE));
        tokio::pin!(late);
        while now(&state) < count {
            tokio::select! {
                _ = changes.changed() => {}
                _ = &mut late => panic!("{} {what} after {PATIENCE:?}, not {count}", now(&state)),
            }
        }
        late.abort();
    }
}

impl Drop for FakeProvider {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for FakeProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeProvider")
            .field("address", &self.address)
            .field("counts", &self.state.counts())
            .finish_non_exhaustive()
    }
}
