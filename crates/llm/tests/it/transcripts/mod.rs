//! Tests the provider APIs with recorded answers and requests: transcripts (`NAME.sse` with
//! `NAME.expected.json`) and exchanges (`*.jsonl`). The example `transcripts` runs the same code on
//! the command line.
//!
//! Without network access: the bytes pass through the same framing and decoders as live ones. The
//! tests additionally send the transcripts over a socket.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod exchange;
pub mod plainly;
pub mod sameness;
pub mod transcript;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::chat::{ModelError, Reply};
use quillet_llm::{
    AnswerLimits, Anthropic, Gemini, OpenAiChat, OpenAiResponses, Protocol, ReasoningEcho,
    ResponseDecoder,
};

/// Returns the provider API for the name of a folder or file.
pub fn wire(name: &str) -> Option<Arc<dyn Protocol>> {
    Some(match name {
        "openai-chat" => Arc::new(OpenAiChat {
            include_usage: true,
            echo: ReasoningEcho::InToolLoop,
            ..OpenAiChat::default()
        }),
        "anthropic" => Arc::new(Anthropic),
        "gemini" => Arc::new(Gemini),
        "openai-responses" => Arc::new(OpenAiResponses),
        _ => return None,
    })
}

/// Results of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of passed cases.
    pub passed: usize,
    /// Names of the failed cases, and their differences.
    pub failed: Vec<(String, Vec<String>)>,
}

impl Report {
    /// Records one case; it has passed if it has no differences.
    pub fn note(&mut self, name: String, differences: Vec<String>) {
        if differences.is_empty() {
            self.passed += 1
        } else {
            self.failed.push((name, differences))
        }
    }
}

/// Tests everything at a path: a transcript, a file of exchanges, or a folder of either, including
/// its subfolders.
///
/// # Errors
/// The path cannot be read, or contains no case.
pub fn run(path: &Path, report: &mut Report) -> Result<(), String> {
    let files = files(path)?;
    if files.is_empty() {
        return Err(format!(
            "{}: there is no *.sse and no *.jsonl here",
            path.display()
        ));
    }
    for file in files {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => exchange::run(&file, report)?,
            _ => transcript::run(&file, report)?,
        }
    }
    Ok(())
}

fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = |error| format!("{}: {error}", path.display());
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = fs::read_dir(path)
        .map_err(shown)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(shown)?;
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        let extension = entry.extension().and_then(|extension| extension.to_str());
        if entry.is_dir() {
            found.extend(files(&entry)?);
        } else if matches!(extension, Some("sse" | "jsonl")) {
            found.push(entry);
        }
    }
    Ok(found)
}

/// A decoded answer.
#[derive(Debug, Default)]
pub struct Read {
    /// The reply up to its end or error.
    pub reply: Reply,
    /// Runs of text, reasoning and refusal of the first choice, in order.
    pub runs: Vec<(&'static str, String)>,
    /// The error that ended the answer.
    pub error: Option<ModelError>,
}

impl Read {
    /// Adds an event.
    pub fn fold(&mut self, event: quillet_core::chat::ChatEvent) {
        use quillet_core::chat::ChatEvent::{Reasoning, Refusal, Text};
        let run = match &event {
            Text { choice: 0, text } => Some(("text", text)),
            Reasoning { choice: 0, text } => Some(("reasoning", text)),
            Refusal { choice: 0, text } => Some(("refusal", text)),
            _ => None,
        };
        match (run, self.runs.last_mut()) {
            (Some((kind, text)), Some((last, all))) if *last == kind => all.push_str(text),
            (Some((kind, text)), _) => self.runs.push((kind, text.clone())),
            _ => {}
        }
        self.reply.fold(event);
    }
}

/// Decodes an answer in chunks of these sizes, which are repeated.
pub fn read(wire: &dyn Protocol, model: &str, body: &[u8], sizes: &[usize]) -> Read {
    let mut intake = ResponseDecoder::new(wire.decoder(model), AnswerLimits::default());
    let mut events = Vec::new();
    let mut rest = body;
    let mut sizes = sizes.iter().cycle();
    let mut error = None;
    while error.is_none() && !rest.is_empty() && !intake.is_done() {
        let size = sizes.next().copied().unwrap_or(rest.len());
        let (piece, after) = rest.split_at(size.clamp(1, rest.len()));
        rest = after;
        error = intake.take(piece, &mut events).err();
    }
    if error.is_none() && !intake.is_done() {
        error = intake.end(&mut events).err();
    }
    let mut read = Read {
        error,
        ..Read::default()
    };
    events.into_iter().for_each(|event| read.fold(event));
    read
}

/// Decodes an answer in one chunk.
pub fn play(wire: &dyn Protocol, body: &str) -> Read {
    read(wire, "model", body.as_bytes(), &[body.len().max(1)])
}

/// Ways to split an answer: whole, in chunks of 1 and 7 bytes, and in chunks of pseudorandom sizes,
/// which are the same in every run.
pub fn ways(length: usize) -> Vec<(&'static str, Vec<usize>)> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let random = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        1 + (state % 40) as usize
    };
    vec![
        ("whole", vec![length.max(1)]),
        ("pieces of 1", vec![1]),
        ("pieces of 7", vec![7]),
        ("random pieces", (0..997).map(random).collect()),
    ]
}
