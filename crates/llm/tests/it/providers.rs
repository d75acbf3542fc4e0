//! Answers of real providers, decoded directly and over a socket, whole and in chunks. Recorded
//! exchanges are included if they are present.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use quillet_core::chat::ChatModel;
use quillet_llm::{Http, Protocol, Provider};
use quillet_test_support::scripted::{ResponseScript, ScriptedServer, ServerAction};
use serde_json::Value;

use crate::transcripts::{self, Read, Report, transcript};
use crate::{config, request};

/// The provider APIs, with the minimum number of transcripts for each.
const WIRES: [(&str, usize); 4] = [
    ("anthropic", 10),
    ("gemini", 9),
    ("openai-chat", 13),
    ("openai-responses", 8),
];

/// The provider APIs whose recorded exchanges are tested here.
const RECORDED: [&str; 4] = ["anthropic", "gemini", "openai-chat", "openai-responses"];

fn beside(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn folder(wire: &str) -> PathBuf {
    beside("../../conformance/providers").join(wire)
}

fn check(report: &Report, least: usize) {
    for (name, differences) in &report.failed {
        println!("failed: {name}\n    {}", differences.join("\n    "));
    }
    assert!(report.failed.is_empty(), "{} failed", report.failed.len());
    assert!(report.passed >= least, "{} passed", report.passed);
}

#[test]
fn every_transcript_is_understood_however_it_is_cut() {
    for (wire, least) in WIRES {
        let mut report = Report::default();
        transcripts::run(&folder(wire), &mut report).unwrap();
        check(&report, least);
    }
}

#[test]
fn recorded_exchanges_are_read_whole_and_written_again() {
    for wire in RECORDED {
        let path = format!("../../../shared/vectors/exchanges/{wire}.jsonl");
        let path = beside(&path);
        if !path.exists() {
            println!("left out: the recorded exchanges are not beside the repository");
            return;
        }
        let mut report = Report::default();
        transcripts::run(&path, &mut report).unwrap();
        check(&report, 100);
    }
}

#[tokio::test]
async fn every_transcript_is_understood_over_a_socket() {
    for (name, least) in WIRES {
        let wire = transcripts::wire(name).unwrap();
        let mut report = Report::default();
        for entry in fs::read_dir(folder(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "sse") {
                over_a_socket(&wire, &path, &mut report).await;
            }
        }
        check(&report, least);
    }
}

async fn over_a_socket(wire: &Arc<dyn Protocol>, path: &Path, report: &mut Report) {
    let body = fs::read(path).unwrap();
    let expected = fs::read_to_string(path.with_extension("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let cuts = (0..body.len())
        .step_by(97)
        .map(|cut| cut_at(&expected, &body, cut));
    let mut scripts = vec![
        pieces(&expected, &body, body.len()),
        pieces(&expected, &body, 1),
        pieces(&expected, &body, 7),
    ];
    scripts.extend(cuts);
    let ways = scripts.len();
    let server = ScriptedServer::start(scripts);
    let model = Provider::new(Http::default(), wire.clone(), config(&server)).unwrap();
    let mut differences = Vec::new();
    for way in 0..ways {
        let read = ask(&model).await;
        let found = transcript::differences_of(&expected, &read);
        differences.extend(found.into_iter().map(|found| format!("way {way}: {found}")));
    }
    report.note(path.display().to_string(), differences);
}

async fn ask(model: &dyn ChatModel) -> Read {
    let mut read = Read::default();
    let mut stream = match model.stream(request()).await {
        Ok(stream) => stream,
        Err(error) => {
            read.error = Some(error);
            return read;
        }
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => read.fold(event),
            Err(error) => read.error = Some(error),
        }
    }
    read
}

fn head(expected: &Value, length: usize) -> ServerAction {
    let transport = &expected["transport"];
    let mut head = format!(
        "HTTP/1.1 {} X\r\ncontent-type: {}\r\ncontent-length: {length}\r\n",
        transport["status"],
        transport["content_type"].as_str().unwrap()
    );
    for (name, value) in transport["headers"].as_object().unwrap() {
        head.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap()));
    }
    ServerAction::Send((head + "\r\n").into_bytes())
}

fn pieces(expected: &Value, body: &[u8], size: usize) -> ResponseScript {
    let sends = body
        .chunks(size)
        .map(|piece| ServerAction::Send(piece.to_vec()));
    std::iter::once(head(expected, body.len()))
        .chain(sends)
        .collect()
}

fn cut_at(expected: &Value, body: &[u8], at: usize) -> ResponseScript {
    let pause = ServerAction::Wait(std::time::Duration::from_millis(1));
    let (first, second) = body.split_at(at);
    vec![
        head(expected, body.len()),
        ServerAction::Send(first.to_vec()),
        pause,
        ServerAction::Send(second.to_vec()),
    ]
}
