//! A dry run of a script writes, starts and calls nothing, regardless of its permissions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use quillet_fake_provider::ReplyScript;
use quillet_host::script::ScriptOptions;
use quillet_script::host::Grants;
use serde_json::{Value, json};

use super::served::{Served, options, serve_with};
use crate::client;

/// A script for each kind of side effect, and the expected text in the response.
const SCRIPTS: [(&str, &str, &str); 8] = [
    (
        "write",
        "!fn |-\n  save() {\n    require('fs').writeFileSync('OUT/keep.txt', 'gone')\n  }\n$save()\nuser: go on\n",
        "fs.writeFile",
    ),
    (
        "append",
        "!fn |-\n  save() {\n    require('fs').appendFileSync('OUT/keep.txt', 'gone')\n  }\n$save()\nuser: go on\n",
        "fs.appendFile",
    ),
    (
        "unlink",
        "!fn |-\n  save() {\n    require('fs').unlinkSync('OUT/keep.txt')\n  }\n$save()\nuser: go on\n",
        "fs.unlink",
    ),
    (
        "mkdir",
        "!fn |-\n  save() {\n    require('fs').mkdirSync('OUT/new')\n  }\n$save()\nuser: go on\n",
        "fs.mkdir",
    ),
    (
        "python",
        "!fn |-\n  [python] def touch():\n    open('OUT/keep.txt', 'w')\n$touch()\nuser: go on\n",
        "touch",
    ),
    ("tool", "- $lookup: {ref: a}\n- user: go on\n", "lookup"),
    ("nested", "-> write\nuser: go on\n", "fs.writeFile"),
    ("prompt", "- prompt/calls: $tool\n- user: go on\n", ""),
];

fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).unwrap_or_default())
    };
    entries.map(read).collect()
}

async fn served(out: &Path, grants: Grants) -> Served {
    let texts: Vec<(String, String)> = SCRIPTS
        .iter()
        .map(|(id, text, _)| {
            let text = text.replace("OUT", &out.display().to_string());
            (format!("prompts/{id}.ai.yaml"), text)
        })
        .collect();
    let mut files: Vec<(&str, &str)> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    // The caller of the tool receives its error.
    files.push(("tools/lookup.json", "{\"fail\": true}"));
    files.push((
        "prompts/calls.yaml",
        "userPrompt: 'It says {{lookup \"a\"}}.'\n",
    ));
    let options = ScriptOptions {
        grants,
        ..options()
    };
    serve_with(&files, ReplyScript::turns([]), options).await
}

/// Calls a route that renders and returns the whole response as text.
async fn rendered(served: &Served, door: &str, id: &str) -> String {
    let answer = match door {
        "mcp" => {
            let body = json!({"jsonrpc": "2.0", "id": 7, "method": "prompts/get",
                "params": {"name": id, "arguments": {}}});
            let headers = [
                ("accept", "application/json, text/event-stream"),
                ("content-type", "application/json"),
                ("mcp-protocol-version", "2025-06-18"),
            ];
            let body = body.to_string();
            client::request(served.address, "POST", "/mcp", &headers, &body).await
        }
        "/api/render" => served.post(door, &json!({"prompt_id": id})).await,
        _ => served.post(&door.replace("ID", id), &json!({})).await,
    };
    assert_eq!(answer.status, 200, "{door} {id}: {}", answer.body);
    answer.body
}

#[tokio::test]
async fn a_render_of_a_script_has_no_effects_whatever_is_granted() {
    let out = super::served::Folder::new();
    out.write("keep.txt", "precious");
    let everything = Grants {
        read: vec!["/".into()],
        write: vec!["/".into()],
        net: true,
        run: true,
        env: vec!["PATH".to_owned()],
    };
    let served = served(out.path(), everything).await;
    let before = files_of(out.path());
    let doors = [
        "/api/render/prompts/ID",
        "/api/prompts/ID/render",
        "/api/render",
        "mcp",
    ];
    for door in doors {
        for (id, _, note) in SCRIPTS {
            let body = rendered(&served, door, id).await;
            assert!(body.contains("go on"), "{door} {id}: {body}");
            assert!(
                !body.contains("failed") && !body.contains("stopped"),
                "{door} {id}: {body}"
            );
            if door != "mcp" {
                assert!(
                    body.contains(note),
                    "{door} {id} does not say {note}: {body}"
                );
            }
            assert_eq!(files_of(out.path()), before, "{door} {id}");
        }
    }
    assert_eq!(served.provider.requests().len(), 0);
}

#[tokio::test]
async fn what_is_granted_is_there_when_the_script_is_run() {
    let out = super::served::Folder::new();
    out.write("keep.txt", "precious");
    let grants = Grants {
        write: vec![out.path().to_owned()],
        ..Grants::default()
    };
    let served = served(out.path(), grants).await;
    let _: Value = served
        .post("/api/chat/prompts/append", &json!({}))
        .await
        .json();
    assert_eq!(
        fs::read_to_string(out.path().join("keep.txt")).unwrap(),
        "preciousgone"
    );
}
