//! Stored agent definitions.

use std::time::Duration;

use quillet_agent::definition::{Instructions, SkillChoice};
use quillet_agent::{AgentDefinition, KnownNames, RunLimits};
use serde_json::json;

fn parse(text: &str) -> AgentDefinition {
    AgentDefinition::parse("shop", text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

const YAML: &str = "
description: Answers questions about orders
model: gpt-4o
modelType: openai
instructions: |
  You are the support of a shop.
tools: ['orders_*', '!orders_delete']
mcpServers: {docs: {url: 'https://docs/mcp'}}
skills: [refunds, {name: shipping, preload: true}]
limits: {maxToolCalls: 8, toolTimeout: 2.5, resultTokens: 500}
options: {temperature: 0.2, topP: 0.9, responseFormat: {type: json_object}, seed: 7}
features: {webSearch: true, silentExit: false}
";

const JSON: &str = r#"{
	"description": "Answers questions about orders",
	"model": "gpt-4o",
	"model_type": "openai",
	"system": "You are the support of a shop.\n",
	"tools": ["orders_*", "!orders_delete"],
	"mcp_servers": {"docs": {"url": "https://docs/mcp"}},
	"skills": ["refunds", {"name": "shipping", "preload": true}],
	"limits": {"max_tool_calls": 8, "tool_timeout_seconds": 2.5, "result_tokens": 500},
	"model_settings": {"temperature": 0.2, "top_p": 0.9, "response_format": {"type": "json_object"}, "seed": 7},
	"features": {"web_search": true, "silent_exit": false}
}"#;

#[test]
fn json_and_yaml_in_either_case_say_the_same() {
    let agent = parse(YAML);
    assert_eq!(agent, parse(JSON));
    assert_eq!(agent.model.as_deref(), Some("gpt-4o"));
    let text = "You are the support of a shop.\n".to_owned();
    assert_eq!(agent.instructions, Instructions::Text(text));
    assert!(agent.tools.allows("orders_list") && !agent.tools.allows("orders_delete"));
    let shipping = SkillChoice {
        name: "shipping".to_owned(),
        preload: true,
    };
    assert_eq!(agent.skills[1], shipping);
    assert_eq!(agent.mcp_servers["docs"]["url"], "https://docs/mcp");
    assert_eq!(agent.options.top_p, Some(0.9));
    assert_eq!(agent.options.extra["seed"], 7);
    assert_eq!(
        agent.options.response_format,
        Some(json!({"type": "json_object"}))
    );
    assert_eq!(agent.features.web_search, Some(true));
    assert_eq!(agent.features.silent_exit, Some(false));
    assert_eq!(agent.features.clarification, None);
}

#[test]
fn an_agent_changes_the_limits_that_it_names() {
    let limits = parse(YAML).limits.merge_into(RunLimits::default());
    let expected = RunLimits {
        tool_rounds: 8,
        call_time: Duration::from_millis(2_500),
        result_tokens: 500,
        ..RunLimits::default()
    };
    assert_eq!(limits, expected);
}

#[test]
fn a_stored_prompt_can_be_the_instructions() {
    let agent = parse("{prompt: shop.support, variables: {name: Ann}}");
    let Instructions::Prompt { id, variables } = agent.instructions else {
        panic!("{:?}", agent.instructions);
    };
    assert_eq!(
        (id.as_str(), &variables["name"]),
        ("shop.support", &json!("Ann"))
    );
}

#[test]
fn an_empty_object_is_an_agent_that_may_call_nothing() {
    let agent = parse("{}");
    assert_eq!(agent, AgentDefinition::default());
    assert!(!agent.tools.allows("anything"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        ("", "shop:1:1: an agent: expected an object, found nothing"),
        (
            "[1]",
            "shop:1:1: an agent: expected an object, found a list",
        ),
        ("model: 7", "shop:1:8: model: expected a string, found 7"),
        (
            "model: a\nmodl: b",
            "shop:2:1: unknown field modl (did you mean model?)",
        ),
        (
            "limits:\n  maxToolCals: 3",
            "shop:2:3: unknown field limits.maxToolCals (did you mean maxToolCalls?)",
        ),
        (
            "limits: {toolTimeout: -1}",
            "limits.toolTimeout: expected seconds, more than 0 and at most 86400, found -1",
        ),
        (
            "limits: {max_tool_calls: many}",
            "shop:1:26: limits.maxToolCalls: expected an integer of at least 0, found a string",
        ),
        (
            "limits: 3",
            "shop:1:9: limits: expected an object, found a number",
        ),
        (
            "api_format: chats",
            "apiFormat: unknown format \"chats\" (use `chat` or `responses`)",
        ),
        (
            "tools: ['!search']",
            "shop:1:9: tools: only patterns with `!`",
        ),
        ("tools: [a, '']", "shop:1:12: tools: empty pattern"),
        (
            "tools: [{name: a}]",
            "shop:1:9: tools: expected patterns such as `search`",
        ),
        (
            "skills: [{preload: true}]",
            "skills: expected a `name`, found an object",
        ),
        (
            "mcpServers: x",
            "mcpServers: expected a list or an object of servers, found a string",
        ),
        (
            "options: {temperature: hot}",
            "shop:1:24: options.temperature: invalid type: string",
        ),
        (
            "system: a\ninstructions: b",
            "system: cannot be combined with instructions",
        ),
        (
            "prompt: a\nsystem: b",
            "prompt: cannot be combined with system",
        ),
        (
            "maxOutputTokens: 1\nmax_output_tokens: 2",
            "shop:2:1: maxOutputTokens: duplicate field",
        ),
        (
            "features: {webSearch: 'yes'}",
            "features.webSearch: expected true or false, found a string",
        ),
        (
            "options: {tol_choice: none}",
            "shop:1:11: options: unknown field \"tol_choice\" (did you mean toolChoice?)",
        ),
        ("a: [", "not YAML: unclosed bracket"),
    ];
    for (text, message) in cases {
        let errors = AgentDefinition::parse("shop", text).expect_err(text);
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(
            said.iter().any(|line| line.contains(message)),
            "{text}: {said:?}"
        );
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let errors = AgentDefinition::parse("shop", "model: 7\nlimits: 3\nx: 1").expect_err("wrong");
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn names_that_nothing_answers_to_are_told() {
    let text = "tools: [orders_*, serch, '!orders_delet', agent/c]\nskills: [pdf, {name: sqll}]\n";
    let tools = ["orders_list", "orders_delete", "search"].map(|name| vec![name.to_owned()]);
    let skills = ["pdf", "sql"].map(str::to_owned);
    let known = KnownNames {
        tools: &tools,
        skills: Some(&skills),
        has_more: false,
    };
    let found = AgentDefinition::doubts("shop", text, known);
    let said: Vec<String> = found.iter().map(ToString::to_string).collect();
    let expected = [
        (
            "shop:1:19: tools: \"serch\" matches no tool",
            Some("search"),
        ),
        (
            "shop:1:26: tools: \"!orders_delet\" matches no tool",
            Some("orders_delete"),
        ),
        ("shop:1:43: tools: \"agent/c\" matches no tool", None),
        ("shop:2:15: skills: unknown skill \"sqll\"", Some("sql")),
    ];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for (said, (begins, near)) in said.iter().zip(expected) {
        assert!(said.starts_with(begins), "{said}");
        let near = near.map(|near| format!("did you mean {near}?"));
        assert!(near.is_none_or(|near| said.contains(&near)), "{said}");
    }
    let skills = None;
    let found = AgentDefinition::doubts("shop", text, KnownNames { skills, ..known });
    assert_eq!(found.len(), 3, "which skills there are is not known");
}

#[test]
fn patterns_that_ask_about_nothing_are_told() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let tools: [Vec<String>; 3] = [
        names(&["search"]),
        names(&["prompt_greet", "prompt/greet"]),
        names(&["prompt_steps", "prompt/steps", "script/steps"]),
    ];
    let known = KnownNames {
        tools: &tools,
        ..KnownNames::default()
    };
    // Each case has a definition and the start of the expected help text, if there is a warning.
    for (text, help) in [
        (
            "tools: ['*']\nask: [search, prompt_greet, script/*]\n",
            None,
        ),
        ("tools: [prompt/greet]\nask: prompt_greet\n", None),
        ("tools: ['*']\nask: ['*', '!script/steps']\n", None),
        (
            "tools: ['*']\nask: [prompt/gret]\n",
            Some("did you mean prompt/greet?"),
        ),
        (
            "tools: [search]\nask: [prompt/greet]\n",
            Some("also add it to `tools`"),
        ),
        (
            "tools: ['*', '!prompt/greet']\nask: [prompt_greet]\n",
            Some("also add it to `tools`"),
        ),
        // The names of tools from MCP servers, skills and features are unknown here, so there is no
        // warning.
        ("mcpServers: [{name: x}]\nask: [mail]\n", None),
        ("skills: [pdf]\nask: [mail]\n", None),
        ("features: {webSearch: true}\nask: [web_search]\n", None),
    ] {
        let found = AgentDefinition::doubts("shop", text, known);
        let found: Vec<_> = found.iter().map(|found| found.help.as_deref()).collect();
        assert_eq!(
            found,
            help.map(Some).into_iter().collect::<Vec<_>>(),
            "{text}"
        );
        let has_more = true;
        let with_servers = AgentDefinition::doubts("shop", text, KnownNames { has_more, ..known });
        assert!(with_servers.is_empty(), "{text}: {with_servers:?}");
    }
}

#[test]
fn hostile_texts_are_refused() {
    let deep = "[".repeat(100_000);
    let wide = format!("a: &a [x]\nb: [{}]", "*a,".repeat(30_000));
    for text in [deep, wide] {
        assert!(AgentDefinition::parse("shop", &text).is_err());
    }
}
