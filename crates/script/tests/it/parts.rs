//! Images, audio and files in messages, as sent to a provider.

use serde_json::{Value as Json, json};

use crate::cases::case::Case;
use crate::cases::run_cases;

/// The bytes `P`, `N`, `G`, in base64.
const PICTURE: &str = "UE5H";

fn case(script: &str, more: &Json) -> Case {
    let mut json = json!({
        "id": script,
        "files": {
            "main.ai.yaml": format!("---\nphoto: a.png\nurl: https://example.org/b.png\n---\n{script}\n"),
            "a.png": "PNG",
            "notes.txt": "remember",
            "tune.mp3": "PNG",
        },
        "run": "main.ai.yaml",
    });
    let (Some(fields), Some(more)) = (json.as_object_mut(), more.as_object()) else {
        unreachable!("both are objects");
    };
    fields.extend(more.clone());
    serde_json::from_value(json).unwrap()
}

fn hold(cases: impl Iterator<Item = Case>) {
    let report = run_cases(cases).unwrap();
    report.print(false);
    assert_eq!(report.failed(), 0);
}

fn image(url: &str) -> Json {
    json!({"type": "image_url", "image_url": {"url": url}})
}

#[test]
fn media_reach_the_provider_as_media() {
    let text = json!({"type": "text", "text": "What is it?"});
    let written = image("https://example.org/b.png");
    let read = image(&format!("data:image/png;base64,{PICTURE}"));
    let close = json!({"type": "image_url", "image_url": {"url": "https://example.org/b.png", "detail": "low"}});
    let sound = json!({"type": "input_audio", "input_audio": {"data": PICTURE, "format": "mp3"}});
    let file = json!({"type": "file", "file": {
        "filename": "notes.txt", "file_data": "data:text/plain;base64,cmVtZW1iZXI=",
    }});
    let table = [
        (
            "- role: user\n  content:\n    - {type: text, text: 'What is it?'}\n    - {type: image_url, image_url: {url: 'https://example.org/b.png'}}",
            vec![&text, &written],
        ),
        (
            "user:\n  - What is it?\n  - {image: 'https://example.org/b.png'}",
            vec![&text, &written],
        ),
        (
            "user: [What is it?, {image: '{{url}}', detail: low}]",
            vec![&text, &close],
        ),
        ("user: [{image: a.png}]", vec![&read]),
        (
            "user: [{image: '{{photo}}'}, {text: What is it?}]",
            vec![&read, &text],
        ),
        ("user: [{audio: tune.mp3}]", vec![&sound]),
        ("user: [{file: notes.txt}]", vec![&file]),
        (
            "$set: {prompt.messages: '?=[{role: \"user\", content: [{type: \"image_url\", image_url: {url}}]}]'}",
            vec![&written],
        ),
    ];
    let cases = table.into_iter().map(|(script, parts)| {
        let said = serde_json::to_string(&parts).unwrap();
        let turn = json!([{"role": "user", "content": said}]);
        case(script, &json!({"expect": {"requests": [turn]}}))
    });
    hold(cases);
}

#[test]
fn other_lists_are_data_and_wrong_parts_are_told() {
    let table = [
        (
            "user: [a, b]",
            json!({"requests": [[{"role": "user", "content": "[\"a\",\"b\"]"}]]}),
        ),
        (
            "user: [{name: x, file: y}]",
            json!({"requests": [[{"role": "user", "content": "[{\"name\":\"x\",\"file\":\"y\"}]"}]]}),
        ),
        (
            "user: [{type: image_urll, image_url: {url: x}}]",
            json!({"error_contains": ["unknown part type `image_urll`", "did you mean `image_url`?"], "request_count": 0}),
        ),
        (
            "user: [{type: image_url, image_url: 5}]",
            json!({"error_contains": ["invalid part of this message", "{image: FILE-OR-ADDRESS}"], "request_count": 0}),
        ),
        (
            "user: [{image: b.png}]",
            json!({"error_contains": ["`b.png`", "main.ai.yaml:5"], "request_count": 0}),
        ),
        (
            "user: [{image: ../../../../etc/hostname}]",
            json!({"error": true, "request_count": 0}),
        ),
        // A computed value is always data and never a media part.
        (
            "$set: {x: '?=[{image: \"a.png\"}]'}\nuser: '{{x}}'",
            json!({"requests": [[{"role": "user", "content": "[{\"image\":\"a.png\"}]"}]]}),
        ),
        (
            "user: [What is it?, {image: a.png}]",
            json!({"messages": [{"role": "user", "content": "What is it?\n[image]"}, {"role": "assistant", "content": ""}]}),
        ),
    ];
    let cases = table.into_iter().map(|(script, wanted)| {
        case(
            script,
            &json!({"llm": [{"match": "", "reply": ""}], "expect": wanted}),
        )
    });
    hold(cases);
}
