//! Sends requests in a closed loop, where each connection sends again as soon as its response is
//! complete, or at a fixed rate. At a fixed rate a request waits for a free connection. Its time
//! counts from its scheduled start, so that a slow server cannot hide its delays.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The time after the last scheduled start in which a waiting request may still begin.
const PATIENCE: Duration = Duration::from_secs(1);

/// The request to send, the number of repetitions and the expected response.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) uri: Uri,
    pub(crate) body: Bytes,
    pub(crate) connections: usize,
    /// The load ends after `requests` requests or after `seconds`, whichever comes first. At least
    /// one of them must be set.
    pub(crate) requests: Option<usize>,
    pub(crate) seconds: Option<Duration>,
    /// Requests per second. `None` means a closed loop.
    pub(crate) rate: Option<f64>,
    pub(crate) token: String,
    pub(crate) tokens: Option<usize>,
    pub(crate) end: String,
}

impl Default for Load {
    fn default() -> Self {
        Load {
            uri: Uri::default(),
            body: Bytes::new(),
            connections: 1,
            requests: None,
            seconds: None,
            rate: None,
            token: String::new(),
            tokens: None,
            end: String::new(),
        }
    }
}

/// The measured times, sorted, and the counts of responses.
#[derive(Debug, Default)]
pub(crate) struct Times {
    pub(crate) first: Vec<Duration>,
    pub(crate) whole: Vec<Duration>,
    pub(crate) failed: usize,
    pub(crate) failure: Option<String>,
    pub(crate) unserved: usize,
    pub(crate) took: Duration,
}

pub(crate) fn percentile(sorted: &[Duration], share: usize) -> Duration {
    let at = sorted.len() * share / 100;
    sorted.get(at).copied().unwrap_or_default()
}

pub(crate) async fn run(load: Load) -> Result<Times, Failure> {
    let schedule = Arc::new(Schedule::of(&load)?);
    if let Some(interval) = schedule.interval {
        let schedule = schedule.clone();
        let connections = load.connections;
        // A separate thread, because the timers of the runtime are only accurate to a millisecond.
        std::thread::spawn(move || schedule.pace(interval, connections));
    }
    let load = Arc::new(load);
    let clients: Vec<_> = (0..load.connections)
        .map(|_| tokio::spawn(client(load.clone(), schedule.clone())))
        .collect();
    let mut all = Times::default();
    for client in clients {
        let times = client.await?;
        all.first.extend(times.first);
        all.whole.extend(times.whole);
        all.failed += times.failed;
        all.unserved += times.unserved;
        all.failure = all.failure.or(times.failure);
    }
    all.took = schedule.begun.elapsed();
    all.first.sort_unstable();
    all.whole.sort_unstable();
    Ok(all)
}

/// Decides when each request begins.
struct Schedule {
    begun: Instant,
    count: usize,
    until: Instant,
    next: AtomicUsize,
    /// The time between two requests at a fixed rate.
    interval: Option<Duration>,
    /// Requests that are due but have not begun.
    due: Semaphore,
}

/// The decision about the next request.
enum Turn {
    /// Send the request. Its time counts from this instant.
    Since(Instant),
    Unserved,
    Over,
}

impl Schedule {
    fn of(load: &Load) -> Result<Self, Failure> {
        let begun = Instant::now();
        let interval = match load.rate {
            Some(rate) => Some(Duration::try_from_secs_f64(1.0 / rate)?),
            None => None,
        };
        let fitting = match (load.rate, load.seconds) {
            (Some(rate), Some(seconds)) => (rate * seconds.as_secs_f64()).round() as usize,
            _ => usize::MAX,
        };
        if load.requests.is_none() && load.seconds.is_none() {
            return Err("--requests or --seconds says when to stop".into());
        }
        let count = load.requests.unwrap_or(usize::MAX).min(fitting);
        // At a fixed rate, the number of requests determines the duration.
        let time = match interval {
            Some(interval) => interval.mul_f64(count as f64) + PATIENCE,
            None => load.seconds.unwrap_or(Duration::from_secs(1 << 20)),
        };
        Ok(Schedule {
            begun,
            count,
            until: begun + time,
            next: AtomicUsize::new(0),
            interval,
            due: Semaphore::new(0),
        })
    }

    fn due(&self, index: usize, interval: Duration) -> Instant {
        self.begun + interval.mul_f64(index as f64)
    }

    fn pace(&self, interval: Duration, connections: usize) {
        for index in 0..self.count {
            let due = self.due(index, interval);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.due.add_permits(1);
        }
        // Wake every waiting client so that it sees the end.
        self.due.add_permits(connections);
    }

    async fn turn(&self) -> Turn {
        if self.interval.is_some()
            && let Ok(permit) = self.due.acquire().await
        {
            permit.forget();
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        if index >= self.count {
            return Turn::Over;
        }
        match self.interval {
            Some(_) if now > self.until => Turn::Unserved,
            Some(interval) => Turn::Since(self.due(index, interval)),
            None if now > self.until => Turn::Over,
            None => Turn::Since(now),
        }
    }
}

/// Sends requests over one connection and reconnects when the connection ends.
async fn client(load: Arc<Load>, schedule: Arc<Schedule>) -> Times {
    let mut times = Times::default();
    let mut sender = None;
    loop {
        let since = match schedule.turn().await {
            Turn::Since(since) => since,
            Turn::Unserved => {
                times.unserved += 1;
                continue;
            }
            Turn::Over => return times,
        };
        match ask(&load, &mut sender, since).await {
            Ok((first, whole)) => {
                times.first.push(first);
                times.whole.push(whole);
            }
            Err(failure) => {
                times.failed += 1;
                times.failure.get_or_insert(failure.to_string());
                sender = None;
            }
        }
    }
}

type Sender = SendRequest<Full<Bytes>>;

async fn connect(uri: &Uri) -> Result<Sender, Failure> {
    let host = uri.host().ok_or("no host")?;
    let stream = TcpStream::connect((host, uri.port_u16().unwrap_or(80))).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn ask(
    load: &Load,
    kept: &mut Option<Sender>,
    since: Instant,
) -> Result<(Duration, Duration), Failure> {
    let mut sender = match kept.take().filter(|sender| !sender.is_closed()) {
        Some(sender) => sender,
        None => connect(&load.uri).await?,
    };
    sender.ready().await?;
    let host = load.uri.authority().map_or("", |host| host.as_str());
    let request = Request::post(load.uri.path())
        .header("host", host)
        .header("content-type", "application/json")
        .header("authorization", "Bearer none")
        .body(Full::new(load.body.clone()))?;
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    if !status.is_success() {
        return Err(format!("answered {status}").into());
    }
    let mut body = answer.into_body();
    let mut seen = Seen::default();
    let mut first = None;
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        if let Some(data) = frame.data_ref() {
            seen.more(data, load.token.as_bytes());
        }
        if first.is_none() && seen.tokens > 0 {
            first = Some(since.elapsed());
        }
    }
    let whole = since.elapsed();
    let first = first.ok_or("no token came")?;
    if load.tokens.is_some_and(|tokens| tokens != seen.tokens) {
        return Err(format!("{} tokens came", seen.tokens).into());
    }
    if !seen.ends_with(load.end.as_bytes()) {
        return Err("the end is missing".into());
    }
    *kept = Some(sender);
    Ok((first, whole))
}

/// The number of bytes at the end of a response that are compared with the expected end.
const REMEMBERED: usize = 32;

/// The progress of one response.
#[derive(Default)]
struct Seen {
    tokens: usize,
    last: Vec<u8>,
}

impl Seen {
    /// Adds data of the body. A token may span two chunks.
    fn more(&mut self, data: &[u8], token: &[u8]) {
        if token.is_empty() {
            self.tokens = 1;
        } else {
            let across = token.len().saturating_sub(1);
            let mut seam = self.last[self.last.len().saturating_sub(across)..].to_vec();
            seam.extend_from_slice(&data[..data.len().min(across)]);
            self.tokens += count(&seam, token) + count(data, token);
        }
        self.last
            .extend_from_slice(&data[data.len().saturating_sub(REMEMBERED)..]);
        let forgotten = self.last.len().saturating_sub(REMEMBERED);
        self.last.drain(..forgotten);
    }

    fn ends_with(&self, end: &[u8]) -> bool {
        self.last.trim_ascii_end().ends_with(end)
    }
}

fn count(data: &[u8], token: &[u8]) -> usize {
    let found = data.windows(token.len()).filter(|window| *window == token);
    found.count()
}
