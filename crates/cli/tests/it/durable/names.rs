//! Tool names in permissions: the function name and the target name.

use quillet_fake_provider::{
    FakeProvider, RecordedRequest, ReplyPart, ReplyScript, ScriptedCall, ScriptedReply,
};
use serde_json::{Value, json};

use super::World;
use crate::serve::Running;

/// Functions with all their names.
const NAMES: &[(&str, &[&str])] = &[
    ("look", &["look"]),
    ("shop_send", &["shop_send", "shop.send"]),
    ("prompt_greet", &["prompt_greet", "prompt/greet"]),
    (
        "prompt_steps",
        &["prompt_steps", "prompt/steps", "script/steps"],
    ),
    #[cfg(feature = "sql")]
    (
        "db_shop_list_tables",
        &["db_shop_list_tables", "database/shop"],
    ),
];

/// Calls the function that the question names, and then ends.
fn calls(asked: &RecordedRequest) -> ScriptedReply {
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    if messages.last().unwrap()["role"] == "tool" {
        return ScriptedReply::text(["through with it"]);
    }
    let question = messages.last().unwrap()["content"].as_str().unwrap();
    let name = question.split_whitespace().next().unwrap().to_owned();
    ScriptedReply::new(vec![ReplyPart::Call(ScriptedCall {
        id: "call_1".to_owned(),
        name,
        arguments: vec!["{}".to_owned()],
    })])
}

/// Creates a store with every kind of tool, and with agents that have these lines.
fn world(agents: &[String]) -> World {
    let mut world = World::with("memory:", "", "");
    let tool = std::fs::read_to_string(world.place.path().join("s/tools/look.json")).unwrap();
    world.place = world.place.with(&[
        ("s/tools/shop/send.json", tool.as_str()),
        ("s/prompts/greet.gotmpl", "Hello"),
        ("s/prompts/steps.ai.yaml", "---\n---\n$ret: \"stepped\"\n"),
        (
            "s/databases/shop.json",
            r#"{"url": "sqlite:shop.db", "description": "A shop"}"#,
        ),
        ("shop.db", ""),
    ]);
    for (index, lines) in agents.iter().enumerate() {
        let agent = format!("model: gpt-4o\ninstructions: Do it.\n{lines}");
        world.place = world
            .place
            .with(&[(&format!("s/agents/a{index}.yaml"), &agent)]);
    }
    world.provider = FakeProvider::start(ReplyScript::function(calls));
    world
}

/// Returns the complete response of an agent that should call a function.
fn told(server: &Running, agent: usize, function: &str) -> String {
    let body = json!({"model_config": {"model_id": format!("agent/a{agent}"), "model": "openai"},
        "input": {"text": function}});
    server.request("POST", "/v1/response", &body.to_string())
}

fn patterns(of: &str) -> Vec<String> {
    let star = of
        .find(['/', '.', '_'])
        .map(|at| format!("{}*", &of[..=at]));
    std::iter::once(of.to_owned()).chain(star).collect()
}

#[test]
fn whoever_is_asked_is_asked_by_either_name() {
    let mut rows = Vec::new();
    for (function, names) in NAMES {
        for pattern in names.iter().flat_map(|name| patterns(name)) {
            rows.push((*function, format!("[\"{pattern}\"]"), true));
            // If a pattern excludes the tool by its other name, no approval is needed.
            let other = names.last().unwrap();
            rows.push((*function, format!("[\"{pattern}\", \"!{other}\"]"), false));
        }
    }
    rows.push(("look", "[\"prompt/greet\"]".to_owned(), false));
    rows.push(("prompt_greet", "[\"script/greet\"]".to_owned(), false));
    let agents = rows.iter();
    let agents = agents.map(|(_, ask, _)| format!("tools: [\"*\"]\nask: {ask}\n"));
    let world = world(&agents.collect::<Vec<_>>());
    let server = world.server();
    for (index, (function, ask, is_asked)) in rows.iter().enumerate() {
        let told = told(&server, index, function);
        let waits = told.contains("approval.required") && told.contains("approval_required");
        assert_eq!(waits, *is_asked, "{function} with ask {ask}: {told}");
        assert_eq!(
            told.contains("through with it"),
            !is_asked,
            "{function} with {ask}: {told}"
        );
    }
}

#[test]
fn tools_are_permitted_and_taken_away_by_either_name() {
    let mut rows = Vec::new();
    for (function, names) in NAMES {
        for name in *names {
            rows.push((*function, format!("tools: [\"{name}\"]\n"), true));
            rows.push((*function, format!("tools: [\"*\", \"!{name}\"]\n"), false));
        }
    }
    let world = world(&rows.iter().map(|row| row.1.clone()).collect::<Vec<_>>());
    let server = world.server();
    for (index, (function, lines, is_offered)) in rows.iter().enumerate() {
        told(&server, index, function);
        let requests = world.provider.requests();
        let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
        let offered = body["tools"].to_string();
        let is_there = offered.contains(&format!("\"name\":\"{function}\""));
        assert_eq!(is_there, *is_offered, "{function} with {lines}: {offered}");
    }
}

#[test]
fn a_pattern_that_asks_about_nothing_is_told_in_the_answer_and_by_the_check() {
    let lines = [
        ("tools: [look]\nask: [look]\n", None),
        ("tools: [\"prompt/*\"]\nask: [prompt_greet]\n", None),
        ("tools: [look]\nask: [lok]\n", Some("did you mean look?")),
        (
            "tools: [look]\nask: [\"prompt/greet\"]\n",
            Some("also add it to `tools`"),
        ),
    ];
    let agents: Vec<String> = lines.iter().map(|(lines, _)| (*lines).to_owned()).collect();
    let world = world(&agents);
    let checked = world.place.run(&["check", "--store", "dir:s"]);
    let server = world.server();
    for (index, (lines, help)) in lines.iter().enumerate() {
        let told = told(&server, index, "look");
        let says = "matches no allowed tool";
        assert_eq!(told.contains(says), help.is_some(), "{lines}: {told}");
        let said = format!(
            "{says} and has no effect: name a tool as in `tools`\n --> agents/a{index}.yaml:"
        );
        let said = checked.out.contains(&said);
        assert_eq!(said, help.is_some(), "{lines}: {}", checked.out);
        let help = help.unwrap_or_default();
        assert!(checked.out.contains(help), "{lines}: {}", checked.out);
    }
}
