//! Answers mean the same however they are split into chunks.

use proptest::prelude::*;

use crate::transcripts::{read, wire};

/// Valid and unusual stream chunks of every provider API.
const PIECES: [&str; 14] = [
    "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"h\u{e9}\u{1f30d}\u{2028}\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n",
    "data: [DONE]\n\n",
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{}}}\n\n",
    "event: message_stop\r\ndata: {\"type\":\"message_stop\"}\r\r",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\u{4e16}\"}]},\"finishReason\":\"STOP\"}],\"responseId\":\"g\"}\r\n\r\n",
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\"}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[]}}\n\n",
    "{\n  \"error\": {\"code\": 503, \"message\": \"}\\\"\"}\n}\n",
    ": comment\n",
    "\u{feff}",
    "\r\n",
    "data: {\ndata: }\n\n",
    "data: {\"id\":",
];

proptest! {
    #[test]
    fn a_cut_anywhere_changes_nothing(
        picks in prop::collection::vec(0..PIECES.len(), 1..8),
        sizes in prop::collection::vec(1..40_usize, 1..20),
    ) {
        let body: String = picks.iter().map(|pick| PIECES[*pick]).collect();
        for name in ["anthropic", "gemini", "openai-chat", "openai-responses"] {
            let wire = wire(name).unwrap();
            let whole = read(&*wire, "m", body.as_bytes(), &[body.len()]);
            // An accepted answer always has finish reasons, so callers do not check them.
            let choices = &whole.reply.choices;
            let has_end = !choices.is_empty() && choices.iter().all(|c| c.finish_reason.is_some());
            prop_assert!(whole.error.is_some() || has_end, "{}: {:?}", name, body);
            for sizes in [&[1][..], &sizes] {
                let pieces = read(&*wire, "m", body.as_bytes(), sizes);
                prop_assert_eq!(&pieces.runs, &whole.runs, "{}: {:?}", name, body);
                let kinds = [&pieces, &whole].map(|read| read.error.as_ref().map(|e| e.kind));
                prop_assert_eq!(kinds[0], kinds[1], "{}: {:?}", name, body);
            }
        }
    }
}

/// Found by fuzzing: leading white space was skipped or not, depending on the split.
#[test]
fn white_space_before_an_answer_is_nothing_however_it_is_cut() {
    let body = "\x0c \n\x0cdata: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let wire = quillet_llm::OpenAiChat::default();
    let read = |size: usize| {
        let decoder = quillet_llm::Protocol::decoder(&wire, "m");
        let mut intake =
            quillet_llm::ResponseDecoder::new(decoder, quillet_llm::AnswerLimits::default());
        let mut reply = quillet_core::chat::Reply::default();
        let mut events = Vec::new();
        for piece in body.as_bytes().chunks(size) {
            intake.take(piece, &mut events).unwrap();
        }
        intake.end(&mut events).unwrap();
        events.into_iter().for_each(|event| reply.fold(event));
        reply.choices[0].text.clone()
    };
    for size in [1, 2, 3, 7, body.len()] {
        assert_eq!(read(size), "a", "in pieces of {size}");
    }
}
