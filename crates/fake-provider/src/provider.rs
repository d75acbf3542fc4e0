//! The running server and its API for tests.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::provider_api::ProviderApi;
use crate::request::RecordedRequest;
use crate::script::ReplyScript;
use crate::serve::{ServerState, serve};

/// Timeout of a wait; after it the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Settings of a provider.
#[derive(Clone, Copy, Debug)]
pub struct ProviderSettings {
    /// The listening address. Default: a free port of 127.0.0.1.
    pub address: SocketAddr,
    /// Maximum number of recorded requests. Default 10,000; the oldest are dropped first.
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

/// A running provider. It stops on drop.
pub struct FakeProvider {
    address: SocketAddr,
    state: Arc<ServerState>,
    /// The runtime of the provider's thread, whose clock tests cannot pause.
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeProvider {
    /// Starts a provider on a free port.
    #[must_use]
    pub fn start(script: ReplyScript) -> Self {
        FakeProvider::start_with(script, ProviderSettings::default())
    }

    /// Starts a provider. Panics if it cannot listen.
    #[must_use]
    pub fn start_with(script: ReplyScript, settings: ProviderSettings) -> Self {
        let state = Arc::new(ServerState::new(script, settings.remembered));
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let serving = state.clone();
        // The provider has its own thread and runtime, because it must keep serving while a test
        // pauses its clock or blocks its runtime.
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

    /// Returns the listening address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL that an API's official SDK expects. It ends in `/v1` for both OpenAI
    /// APIs and has no path for the others.
    #[must_use]
    pub fn base_url(&self, wire: ProviderApi) -> String {
        match wire {
            ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => {
                format!("http://{}/v1", self.address)
            }
            ProviderApi::Anthropic | ProviderApi::Gemini => format!("http://{}", self.address),
        }
    }

    /// Returns the recorded requests, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.state.requests()
    }

    /// Returns the number of received requests.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.state.counts().asked
    }

    /// Returns the number of rows in all accepted batches.
    #[must_use]
    pub fn batch_rows(&self) -> usize {
        self.state.batch_rows()
    }

    /// Returns the number of clients that disconnected before the end of a response.
    #[must_use]
    pub fn left(&self) -> usize {
        self.state.counts().left
    }

    /// Returns the number of open responses. A response ends when its last part is passed to the
    /// connection or when the connection ends.
    #[must_use]
    pub fn open(&self) -> usize {
        self.state.counts().open
    }

    /// Waits for this many requests. Panics after 20 seconds.
    pub async fn until_asked(&self, count: usize) {
        self.wait("requests", count, |state| state.counts().asked)
            .await;
    }

    /// Waits until this many clients disconnected before the end of a response. Panics after 20
    /// seconds.
    pub async fn disconnected(&self, count: usize) {
        self.wait("clients that left", count, |state| state.counts().left)
            .await;
    }

    async fn wait(&self, what: &str, count: usize, now: impl Fn(&ServerState) -> usize) {
        let state = self.state.clone();
        let mut changes = state.changes();
        // A paused test clock would fire this timer immediately, so it runs on the provider's
        // runtime.
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
        // Dropping the sender ends the thread, which frees the port.
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
