//! Compacts a conversation to a context window and prints the result.
//!
//!     cargo run -p quillet-agent --example compaction -- CONTEXT OUTPUT < MESSAGES.json
//!
//! MESSAGES.json is a list of messages in the format of OpenAI's chat API; the last one is the
//! question. The token counter assumes four bytes per token. The output is the report, then the
//! first 76 characters of each message to send.

use std::error::Error;
use std::sync::Arc;

use quillet_agent::compact::{self, Conversation};
use quillet_agent::{RunLimits, Window};
use quillet_core::Message;
use quillet_core::chat::Bytes4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let window = Window {
        context: numbers.next().unwrap_or(Ok(8192))?,
        output: numbers.next().unwrap_or(Ok(4096))?,
        known: true,
    };
    let mut history: Vec<Message> = serde_json::from_reader(std::io::stdin())?;
    let input = history.pop().into_iter().collect();
    let mut conversation = Conversation::new(Arc::new(Bytes4), String::new(), history, input);
    let report = compact::compact_to_target(&mut conversation, window, &RunLimits::default())?;
    println!("{}", serde_json::to_string(&report)?);
    for message in conversation.messages() {
        let text = message.content.to_string().replace('\n', "⏎");
        let calls = message.tool_calls.iter().map(|call| call.id.as_str());
        let calls = calls.chain(message.tool_call_id.as_deref());
        let shown: String = text.chars().take(76).collect();
        println!(
            "{:9} {:3} {shown}",
            message.role.as_str(),
            calls.collect::<String>()
        );
    }
    Ok(())
}
