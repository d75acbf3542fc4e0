//! Measures how fast three servers with one Redis apply a moved label: the time in milliseconds
//! from the request that moves it until each replica renders the new version.
//!
//! `cargo build --release -p quillet-cli --features full && cargo run --release -p quillet-cli --example label_replicas -- target/release/quillet`

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use quillet_test_support::{RedisServer, TempDir};

const REPLICAS: usize = 3;

/// Number of label moves.
const MOVES: usize = 300;

/// Pause between two renders of a replica that still has the old version.
const PAUSE: Duration = Duration::from_micros(500);

/// Maximum time for a replica to apply the new version.
const LONGEST: Duration = Duration::from_secs(10);

const LABEL: &str = "/api/v1/prompts/greet.hello/labels/production";

fn main() -> Result<(), Box<dyn Error>> {
    let binary = std::env::args_os().nth(1);
    let binary = binary.ok_or("pass the path of a quillet to measure")?;
    let redis = RedisServer::start();
    let folder = TempDir::new();
    let servers = (0..REPLICAS).map(|_| Server::start(binary.as_ref(), &redis.url(), &folder));
    let servers = servers.collect::<Result<Vec<_>, _>>()?;
    let clients = servers.iter().map(|server| Client::open(&server.address));
    let mut clients = clients.collect::<Result<Vec<_>, _>>()?;
    for text in ["One", "Two"] {
        let definition = format!("{{\"userPrompt\":\"{text}\"}}");
        clients[0].change("PUT", "/api/v1/prompts/greet.hello", &definition)?;
    }
    for client in &mut clients {
        client.until("2", Instant::now())?;
    }
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for round in 0..MOVES {
        let version = if round % 2 == 0 { "1" } else { "2" };
        let mut mover = Client::open(&servers[round % REPLICAS].address)?;
        let begun = Instant::now();
        let seen: Vec<Result<Duration, String>> = scope(|threads| {
            let watching: Vec<_> = clients
                .iter_mut()
                .map(|client| threads.spawn(move || client.until(version, begun)))
                .collect();
            let moved = mover.change("PUT", LABEL, &format!("{{\"version\":{version}}}"));
            let seen = watching.into_iter().map(|one| {
                moved.as_ref().map_err(ToString::to_string)?;
                one.join().map_err(|_| "a thread ended".to_owned())?
            });
            seen.collect()
        });
        let seen = seen.into_iter().collect::<Result<Vec<_>, _>>()?;
        first.extend(seen.iter().min().copied());
        last.extend(seen.iter().max().copied());
    }
    println!("{MOVES} moves, {REPLICAS} replicas, ms:");
    println!("| seen by | p50 | p99 | most |");
    println!("|---|---:|---:|---:|");
    for (name, mut times) in [("the first replica", first), ("all replicas", last)] {
        times.sort();
        let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} |",
            at(50),
            at(99),
            at(100)
        );
    }
    Ok(())
}

/// A `quillet serve` process that is killed on drop.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(binary: &Path, store: &str, folder: &TempDir) -> Result<Self, Box<dyn Error>> {
        let log = fs::File::create(folder.path().join("log"))?;
        let process = Command::new(fs::canonicalize(binary)?)
            .args(["serve", "--listen", "127.0.0.1:0", "--model", "mock"])
            .args(["--store", store])
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::piped())
            .spawn()?;
        let mut server = Server {
            process,
            address: String::new(),
        };
        let notes = server.process.stderr.take().ok_or("no standard error")?;
        let mut notes = BufReader::new(notes);
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            if notes.read_line(&mut line)? == 0 {
                return Err("the server did not begin".into());
            }
        }
        // The remaining output is read too, because a full pipe would block the server.
        std::thread::spawn(move || std::io::copy(&mut notes, &mut std::io::sink()));
        let (_, address) = line.split_once("http://").unwrap_or_default();
        address.trim().clone_into(&mut server.address);
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A connection that is kept open for many requests.
struct Client {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Client {
    fn open(address: &str) -> Result<Self, Box<dyn Error>> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Client {
            address: address.to_owned(),
            stream: BufReader::new(stream),
        })
    }

    /// Sends a request that must succeed.
    fn change(&mut self, method: &str, path: &str, body: &str) -> Result<(), Box<dyn Error>> {
        let head = self.ask(method, path, body)?;
        if head.starts_with("http/1.1 2") {
            return Ok(());
        }
        Err(format!("{method} {path}: {head}").into())
    }

    /// Returns the head of the response and discards its body.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<String, Box<dyn Error>> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head)? == 0 {
                return Err("the connection ended".into());
            }
        }
        let head = head.to_ascii_lowercase();
        let length = header(&head, "content-length").unwrap_or_default();
        let mut body = vec![0; length.parse()?];
        self.stream.read_exact(&mut body)?;
        Ok(head)
    }

    /// Returns the time until a render has this version.
    fn until(&mut self, version: &str, begun: Instant) -> Result<Duration, String> {
        while begun.elapsed() < LONGEST {
            let head = self.ask("POST", "/api/v1/render/prompts/greet.hello", "{}");
            let head = head.map_err(|error| error.to_string())?;
            if header(&head, "quillet-version") == Some(version) {
                return Ok(begun.elapsed());
            }
            sleep(PAUSE);
        }
        Err(format!("version {version} was not seen"))
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}
