//! dotprompt: front matter and Picoschema.

use serde_json::json;

use super::read_well;

#[test]
fn what_chat_needs_is_there() {
    let text = "---\nmodel: vertexai/gemini\nconfig: {temperature: 0.1, maxOutputTokens: 5, stopSequences: [x]}\n---\nHi";
    let prompt = read_well("greet.formal.prompt", text);
    assert_eq!(
        (&*prompt.id, prompt.format.as_str()),
        ("greet.formal", "dotprompt")
    );
    assert_eq!(prompt.model.as_deref(), Some("vertexai/gemini"));
    assert_eq!(prompt.options.max_tokens, Some(5));
    assert_eq!(prompt.options.stop, Some(json!(["x"])));
}
