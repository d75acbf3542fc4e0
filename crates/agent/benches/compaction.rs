//! Benchmarks compaction of 10,000 messages to a window of 128,000 tokens.
//!
//!     cargo bench -p quillet-agent --bench compaction
//!
//! Each output line is `CASE: PHASE TAB MILLISECONDS TAB RESULT`, with the best time of 20 rounds.
//! `count` counts the conversation, once per run. `cut` compacts it. `go on` is the check before
//! each further model call, when nothing has to be cut.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_agent::compact::{self, Conversation};
use quillet_agent::{RunLimits, Window};
use quillet_core::chat::Bytes4;
use quillet_core::{Message, Role, ToolCall};

const MESSAGES: usize = 10_000;
const ROUNDS: usize = 20;
const WINDOW: Window = Window {
    context: 128_000,
    output: 16_384,
    known: true,
};

fn main() {
    measure("talk", &history(talk));
    measure("tool rounds", &history(rounds));
    measure("long results", &history(results));
    let one: Vec<Message> = vec![says(Role::User, 1), says(Role::Assistant, 2_000_000)];
    measure("one of 20 MB", &one);
}

fn history(shape: fn(usize) -> Message) -> Vec<Message> {
    (0..MESSAGES).map(shape).collect()
}

fn measure(name: &str, history: &[Message]) {
    let mut best = [Duration::MAX; 3];
    let mut came_of_it = String::new();
    for _ in 0..ROUNDS {
        let history = history.to_vec();
        let begun = Instant::now();
        let input = vec![Message::new(Role::User, "And now?")];
        let mut conversation = Conversation::new(Arc::new(Bytes4), String::new(), history, input);
        conversation.count();
        let counted = Instant::now();
        let report = compact::compact_to_target(&mut conversation, WINDOW, &RunLimits::default());
        let cut = Instant::now();
        let again = compact::compact_to_target(&mut conversation, WINDOW, &RunLimits::default());
        let took = [counted - begun, cut - counted, cut.elapsed()];
        let _ = black_box(again);
        for (best, took) in best.iter_mut().zip(took) {
            *best = took.min(*best);
        }
        if let Ok(Some(report)) = report {
            came_of_it = format!(
                "{} tokens to {} ({} % of the target), {} messages left",
                report.tokens_before,
                report.tokens_after,
                report.tokens_after * 100 / report.target,
                conversation.messages().len()
            );
        }
    }
    for (what, took) in ["count", "cut", "go on"].into_iter().zip(best) {
        println!(
            "{name}: {what}\t{:.3}\t{came_of_it}",
            took.as_secs_f64() * 1e3
        );
    }
}

fn says(role: Role, words: usize) -> Message {
    Message::new(role, "ten bytes ".repeat(words))
}

fn talk(number: usize) -> Message {
    let role = if number.is_multiple_of(2) {
        Role::User
    } else {
        Role::Assistant
    };
    says(role, 20 + number % 37)
}

/// A history that repeats three messages: a question, a tool call and its result.
fn rounds(number: usize) -> Message {
    round(number, 60)
}

fn results(number: usize) -> Message {
    round(number, 6_000)
}

fn round(number: usize, words: usize) -> Message {
    let id = format!("call_{}", number / 3);
    match number % 3 {
        0 => says(Role::User, 20),
        1 => {
            let mut turn = says(Role::Assistant, 5);
            turn.tool_calls.push(ToolCall {
                id,
                name: "search".to_owned(),
                arguments: "{\"query\":\"weather\"}".to_owned(),
            });
            turn
        }
        _ => Message::tool(id, "ten bytes ".repeat(words)),
    }
}
