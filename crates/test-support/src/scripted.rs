//! A scripted HTTP provider with control over every byte: arbitrary splits, pauses, resets and
//! silence. It uses threads and blocking sockets, so it does not need a runtime.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// An action of the server during a response.
#[derive(Clone, Debug)]
pub enum ServerAction {
    /// Writes these bytes.
    Send(Vec<u8>),
    /// Writes these bytes this many times.
    Repeat(Vec<u8>, usize),
    /// Waits.
    Wait(Duration),
    /// Stays silent until the client disconnects.
    Hang,
    /// Ends the connection with a reset.
    Reset,
    /// Ends the connection.
    Close,
}

/// The actions of the server for one request. Without a [`ServerAction::Close`] or
/// [`ServerAction::Reset`] at the end, the connection stays open for the next request.
pub type ResponseScript = Vec<ServerAction>;

/// A received request.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Request line and headers.
    pub head: String,
    /// The body.
    pub body: String,
    /// Index of the connection, from 0.
    pub connection: usize,
}

/// Received requests and disconnects.
#[derive(Debug, Default)]
struct RequestLog {
    seen: Vec<RecordedRequest>,
    /// The number of clients that disconnected during a response.
    left: usize,
}

/// A running HTTP server that answers with scripted responses. The server stops when the test
/// process exits.
#[derive(Clone, Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    log: Arc<(Mutex<RequestLog>, Condvar)>,
}

impl ScriptedServer {
    /// Starts a server that answers each request with the next script. The last script answers all
    /// further requests.
    pub fn start(scripts: Vec<ResponseScript>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = ScriptedServer {
            address: listener.local_addr().unwrap(),
            log: Arc::default(),
        };
        let scripts = Arc::new(scripts);
        let running = server.clone();
        std::thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (server, scripts) = (running.clone(), scripts.clone());
                // One thread per connection, because a script may hang and must not block the
                // others.
                std::thread::spawn(move || server.serve(stream.unwrap(), connection, &scripts));
            }
        });
        server
    }

    /// Returns the base URL for clients.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests that were received so far.
    pub fn seen(&self) -> Vec<RecordedRequest> {
        self.log.0.lock().unwrap().seen.clone()
    }

    /// Waits until this many requests were received. Returns `false` if that takes more than five
    /// seconds.
    pub fn wait_seen(&self, count: usize) -> bool {
        self.wait(|log| log.seen.len() >= count)
    }

    /// Waits until a client disconnects during a response. Returns `false` if that takes more than
    /// five seconds.
    pub fn wait_left(&self) -> bool {
        self.wait(|log| log.left > 0)
    }

    fn wait(&self, holds: impl Fn(&RequestLog) -> bool) -> bool {
        let (log, changed) = &*self.log;
        let guard = log.lock().unwrap();
        let five = Duration::from_secs(5);
        let (guard, _) = changed
            .wait_timeout_while(guard, five, |log| !holds(log))
            .unwrap();
        holds(&guard)
    }

    fn note(&self, note: impl FnOnce(&mut RequestLog)) {
        note(&mut self.log.0.lock().unwrap());
        self.log.1.notify_all();
    }

    fn serve(&self, mut stream: TcpStream, connection: usize, scripts: &[ResponseScript]) {
        stream.set_nodelay(true).unwrap();
        while let Some((head, body)) = read_request(&mut stream) {
            let mut turn = 0;
            self.note(|log| {
                turn = log.seen.len();
                log.seen.push(RecordedRequest {
                    head,
                    body,
                    connection,
                });
            });
            let Some(script) = scripts.get(turn).or(scripts.last()) else {
                return;
            };
            if !script
                .iter()
                .any(|step| matches!(step, ServerAction::Reset))
            {
                // Read the byte that `read_request` left for a reset.
                let _ = stream.read(&mut [0]);
            }
            for step in script {
                match play(&mut stream, step) {
                    PlayResult::On => {}
                    PlayResult::End => return,
                    PlayResult::Left => return self.note(|log| log.left += 1),
                }
            }
        }
    }
}

enum PlayResult {
    On,
    End,
    Left,
}

fn play(stream: &mut TcpStream, step: &ServerAction) -> PlayResult {
    match step {
        ServerAction::Send(bytes) => write(stream, bytes),
        ServerAction::Repeat(bytes, times) => {
            for _ in 0..*times {
                if let PlayResult::Left = write(stream, bytes) {
                    return PlayResult::Left;
                }
            }
            PlayResult::On
        }
        ServerAction::Wait(time) => wait(stream, *time),
        ServerAction::Hang => wait(stream, Duration::from_secs(60)),
        // If a byte of the request is unread, the operating system resets the connection.
        ServerAction::Reset | ServerAction::Close => PlayResult::End,
    }
}

fn write(stream: &mut TcpStream, bytes: &[u8]) -> PlayResult {
    match stream.write_all(bytes) {
        Ok(()) => PlayResult::On,
        Err(_) => PlayResult::Left,
    }
}

/// Waits and returns early if the client disconnects.
fn wait(stream: &mut TcpStream, time: Duration) -> PlayResult {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let left = left.max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).unwrap();
        match stream.peek(&mut [0]) {
            Ok(0) => return PlayResult::Left,
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return PlayResult::Left,
        }
    }
    stream.set_read_timeout(None).unwrap();
    PlayResult::On
}

/// Reads a request except for its last byte, which is only peeked. Closing a connection with unread
/// bytes resets it.
fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then_some(value)
    });
    let length: usize = length?.trim().parse().ok()?;
    let mut body = vec![0; length.checked_sub(1)?];
    stream.read_exact(&mut body).ok()?;
    stream.peek(&mut byte).ok()?;
    body.push(byte[0]);
    Some((head, String::from_utf8(body).ok()?))
}

/// Returns a complete response that includes `Content-Length`. The connection stays open.
pub fn answer(
    status: u16,
    content_type: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> ResponseScript {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    vec![ServerAction::Send(head.into_bytes())]
}

/// Returns the head of a stream that ends when the connection is closed.
pub fn stream_head() -> ServerAction {
    ServerAction::Send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec(),
    )
}

/// Returns a stream that writes each of these parts separately and ends when the connection is
/// closed.
pub fn stream(pieces: &[&[u8]]) -> ResponseScript {
    let mut script = vec![stream_head()];
    for piece in pieces {
        script.push(ServerAction::Send(piece.to_vec()));
        script.push(ServerAction::Wait(Duration::from_millis(2)));
    }
    script.push(ServerAction::Close);
    script
}

/// Returns a stream in chunked encoding. The connection stays open.
pub fn chunked(events: &[String]) -> ResponseScript {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut script = vec![ServerAction::Send(head.to_vec())];
    for event in events {
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        script.push(ServerAction::Send(chunk.into_bytes()));
    }
    script.push(ServerAction::Send(b"0\r\n\r\n".to_vec()));
    script
}

/// Returns a stream event that contains this text.
pub fn text_event(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!(
        r#"data: {{"id":"c1","created":1700000000,"model":"scripted","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#
    ) + "\n\n"
}

/// Returns the stream event that contains the finish reason.
pub fn finish_event() -> String {
    r#"data: {"id":"c1","created":1700000000,"model":"scripted","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#.to_owned() + "\n\n"
}

/// Returns the event that ends a stream.
pub fn done_event() -> String {
    "data: [DONE]\n\n".to_owned()
}

/// Returns a complete streamed reply that contains this text.
pub fn good(text: &str) -> ResponseScript {
    chunked(&[text_event(text), finish_event(), done_event()])
}
