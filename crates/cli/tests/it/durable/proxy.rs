//! A Redis proxy for a process that is to be killed. It forwards a fixed number of journal steps,
//! and then nothing more.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

pub(super) struct Proxy {
    pub(super) url: String,
}

impl Proxy {
    /// Starts a proxy for a server. It forwards this number of steps, counted over all journals.
    pub(super) fn start(redis: &str, steps: u64) -> Self {
        let server = redis.trim_start_matches("redis://");
        let server = server.split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let left = Arc::new(AtomicU64::new(steps));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&server).unwrap();
                let (back, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || copy(back, to));
                let left = left.clone();
                thread::spawn(move || pass(client, server, &left));
            }
        });
        Proxy { url }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

/// Forwards commands one after the other. A command that would exceed the number of steps is
/// withheld, together with all later ones on the connection, so the process waits.
fn pass(client: TcpStream, mut server: TcpStream, left: &AtomicU64) {
    let mut reader = BufReader::new(client);
    while let Some((bytes, words)) = command(&mut reader) {
        let steps = steps(&words);
        let may = left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            left.checked_sub(steps)
        });
        if may.is_err() {
            // Keeps reading, so that the process does not see a closed connection.
            while command(&mut reader).is_some() {}
            return;
        }
        if server.write_all(&bytes).is_err() {
            return;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

/// Returns the number of steps that a command writes. Its words are `EVALSHA`, the script, two
/// names, the run, and the steps. An owner's command has six arguments before the steps, and one
/// that starts a run has four.
fn steps(words: &[Vec<u8>]) -> u64 {
    let is = |at: usize, text: &str| words.get(at).is_some_and(|word| word == text.as_bytes());
    let is_journal = words
        .get(4)
        .is_some_and(|key| key.starts_with(b"shenma:journal:{") && key.ends_with(b"}:steps"));
    let evaluates = is(0, "EVALSHA") || is(0, "EVAL");
    if !evaluates || !is_journal {
        return 0;
    }
    let begins = words.get(5).is_some_and(|head| head.starts_with(b"{\""));
    let before = match (is(5, "owner"), begins) {
        (true, _) => 5 + 6,
        (false, true) => 5 + 4,
        _ => return 0,
    };
    words.len().saturating_sub(before) as u64
}

/// Reads one command and returns its bytes and its words.
fn command(reader: &mut impl BufRead) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let mut bytes = Vec::new();
    let count = number(reader, b'*', &mut bytes)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let length = number(reader, b'$', &mut bytes)?;
        let mut word = vec![0; length + 2];
        reader.read_exact(&mut word).ok()?;
        bytes.extend_from_slice(&word);
        word.truncate(length);
        words.push(word);
    }
    Some((bytes, words))
}

fn number(reader: &mut impl BufRead, kind: u8, bytes: &mut Vec<u8>) -> Option<usize> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).ok()?;
    bytes.extend_from_slice(&line);
    let text = line.strip_prefix(&[kind])?;
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}
