//! The model table: models that it must contain, and its generation by `scripts/models`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use quillet_llm::models::ModelFacts;

/// Models of the first table, which was written manually, with their limits.
#[test]
fn what_was_known_is_known() {
    for (model, context, output) in [
        ("gpt-5", 400_000, 128_000),
        ("gpt-5-mini", 400_000, 128_000),
        ("gpt-5-nano", 400_000, 128_000),
        ("gpt-5-codex", 400_000, 128_000),
        ("gpt-5-pro", 400_000, 272_000),
        ("gpt-5-chat", 128_000, 16_384),
        ("gpt-5.1", 400_000, 128_000),
        ("gpt-5.1-codex", 400_000, 128_000),
        ("gpt-5.2", 400_000, 128_000),
        ("gpt-4.1", 1_047_576, 32_768),
        ("gpt-4.1-mini", 1_047_576, 32_768),
        ("gpt-4.1-nano", 1_047_576, 32_768),
        ("gpt-4.5-preview", 128_000, 16_384),
        ("gpt-4o", 128_000, 16_384),
        ("gpt-4o-2024-05-13", 128_000, 4_096),
        ("gpt-4o-mini", 128_000, 16_384),
        ("chatgpt-4o-latest", 128_000, 16_384),
        ("gpt-4-turbo", 128_000, 4_096),
        ("gpt-4-1106-preview", 128_000, 4_096),
        ("gpt-4-0125-preview", 128_000, 4_096),
        ("gpt-4-32k", 32_768, 4_096),
        ("gpt-4", 8_192, 4_096),
        ("gpt-3.5-turbo", 16_385, 4_096),
        ("gpt-oss", 131_072, 131_072),
        ("o1", 200_000, 100_000),
        ("o1-mini", 128_000, 65_536),
        ("o1-preview", 128_000, 32_768),
        ("o1-pro", 200_000, 100_000),
        ("o3", 200_000, 100_000),
        ("o3-mini", 200_000, 100_000),
        ("o3-pro", 200_000, 100_000),
        ("o4-mini", 200_000, 100_000),
        ("claude-3-opus", 200_000, 4_096),
        ("claude-3-sonnet", 200_000, 4_096),
        ("claude-3-haiku", 200_000, 4_096),
        ("claude-3-5-sonnet", 200_000, 8_192),
        ("claude-3-5-haiku", 200_000, 8_192),
        ("claude-3-7-sonnet", 200_000, 64_000),
        ("claude-sonnet-4", 200_000, 64_000),
        ("claude-sonnet-4-5", 200_000, 64_000),
        ("claude-sonnet-4-6", 1_000_000, 128_000),
        ("claude-opus-4", 200_000, 32_000),
        ("claude-opus-4-1", 200_000, 32_000),
        ("claude-opus-4-5", 200_000, 64_000),
        ("claude-opus-4-6", 1_000_000, 128_000),
        ("claude-opus-4-7", 1_000_000, 128_000),
        ("claude-haiku-4-5", 200_000, 64_000),
        ("gemini-1.5-pro", 2_097_152, 8_192),
        ("gemini-1.5-flash", 1_048_576, 8_192),
        ("gemini-2.0-flash", 1_048_576, 8_192),
        ("gemini-2.0-flash-lite", 1_048_576, 8_192),
        ("gemini-2.5-pro", 1_048_576, 65_536),
        ("gemini-2.5-flash", 1_048_576, 65_536),
        ("gemini-2.5-flash-lite", 1_048_576, 65_536),
        ("gemini-3-pro", 1_048_576, 65_536),
        ("gemini-3-flash", 1_048_576, 65_536),
        ("deepseek-chat", 131_072, 8_192),
        ("deepseek-reasoner", 131_072, 65_536),
        ("qwen2.5", 131_072, 8_192),
        ("qwen3", 131_072, 32_768),
        ("qwen3-coder", 262_144, 65_536),
        ("llama-3.1", 131_072, 4_096),
        ("llama-3.2", 131_072, 4_096),
        ("llama-3.3", 131_072, 4_096),
        ("llama3.1", 131_072, 4_096),
        ("llama3.2", 131_072, 4_096),
        ("llama3.3", 131_072, 4_096),
        ("mistral-large", 262_144, 262_144),
        ("mistral-small", 32_000, 8_191),
        ("mock", 128_000, 4_096),
    ] {
        let facts = ModelFacts::built_in().find(model);
        assert!(facts.known, "{model}");
        let found = (facts.context_window, facts.max_output);
        assert_eq!(found, (context, output), "{model}");
    }
}

#[test]
fn what_is_gone_has_an_end_and_a_successor_without_one() {
    let facts = ModelFacts::built_in();
    for model in [
        "gpt-4-turbo",
        "gpt-3.5-turbo-0125",
        "gpt-5",
        "o1-preview",
        "claude-3-5-sonnet-latest",
        "claude-sonnet-4-20250514",
        "claude-opus-4-1-20250805",
        "gemini-1.5-pro-002",
        "models/gemini-2.0-flash-001",
        "gemini-3-pro-preview",
    ] {
        let found = facts.find(model);
        assert!(found.ends.is_some(), "{model}");
        let successor = facts.find(&found.successor.unwrap());
        assert!(successor.known && successor.ends.is_none(), "{model}");
    }
}

/// Rows of LiteLLM's list with the resulting line of the table, if any.
const ROWS: &[(&str, &str, Option<&str>)] = &[
    ("sample_spec", r#"{"mode": "one of: chat, …"}"#, None),
    // The table has prices per million tokens, and values below a cent are not rounded to zero.
    (
        "claude-house-5",
        r#"{"litellm_provider": "anthropic", "mode": "chat", "max_input_tokens": 200000, "max_output_tokens": 64000,
            "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05, "cache_read_input_token_cost": 3e-09,
            "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06,
            "supports_vision": true, "supports_function_calling": true, "supports_reasoning": true,
            "supports_response_schema": true}"#,
        Some(
            r#"{"id":"claude-house-5","context":200000,"output":64000,"supports":["images","tools","reasoning","schema"],"price":{"input":3,"cache_read":0.003,"cache_write":3.75,"output":15}}"#,
        ),
    ),
    // The context window is larger than the input limit. If a successor also has an end date, the
    // next one is used. A version that has the same data as its model needs no line.
    (
        "gpt-house",
        r#"{"litellm_provider": "openai", "mode": "responses", "max_input_tokens": 272000, "max_output_tokens": 128000,
            "deprecation_date": "2026-12-11", "successor_model": "gpt-house-2024-01-01"}"#,
        Some(
            r#"{"id":"gpt-house","context":400000,"output":128000,"supports":[],"ends":"2026-12-11","successor":"gpt-new"}"#,
        ),
    ),
    (
        "gpt-house-2025-01-01",
        r#"{"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 272000, "max_output_tokens": 128000,
            "deprecation_date": "2026-12-11", "successor_model": "gpt-house-2024-01-01"}"#,
        None,
    ),
    (
        "gpt-house-2024-01-01",
        r#"{"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 128000, "max_output_tokens": 4096,
            "deprecation_date": "2026-12-01", "successor_model": "gpt-new"}"#,
        Some(
            r#"{"id":"gpt-house-2024-01-01","context":128000,"output":4096,"supports":[],"ends":"2026-12-01","successor":"gpt-new"}"#,
        ),
    ),
    // A higher price applies above a threshold, and prices of batches are ignored.
    (
        "gemini/gemini-house",
        r#"{"litellm_provider": "gemini", "mode": "chat", "max_input_tokens": 1048576, "max_output_tokens": 65536,
            "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05,
            "input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token_above_200k_tokens": 1.5e-05,
            "input_cost_per_token_above_200k_tokens_batches": 1.25e-06}"#,
        Some(
            r#"{"id":"gemini-house","context":1048576,"output":65536,"supports":[],"price":{"input":1.25,"output":10},"above":{"input_tokens":200000,"input":2.5,"output":15}}"#,
        ),
    ),
    // The row whose name includes the provider is used, and rows of other hosts are ignored.
    (
        "gemini-house",
        r#"{"litellm_provider": "gemini", "mode": "chat", "max_input_tokens": 1, "max_output_tokens": 1}"#,
        None,
    ),
    (
        "vertex_ai/gemini-house",
        r#"{"litellm_provider": "vertex_ai", "mode": "chat", "max_input_tokens": 1, "max_output_tokens": 1}"#,
        None,
    ),
    // Two prices that depend on the request length become a threshold. Three prices, or a separate
    // price for reasoning, cannot be represented.
    (
        "dashscope/qwen-two",
        r#"{"litellm_provider": "dashscope", "mode": "chat", "max_input_tokens": 997952, "max_output_tokens": 32768,
            "tiered_pricing": [
                {"input_cost_per_token": 5e-08, "output_cost_per_token": 4e-07, "range": [0, 256000.0]},
                {"input_cost_per_token": 2.5e-07, "output_cost_per_token": 2e-06, "range": [256000.0, 1000000.0]}]}"#,
        Some(
            r#"{"id":"qwen-two","context":997952,"output":32768,"supports":[],"price":{"input":0.05,"output":0.4},"above":{"input_tokens":256000,"input":0.25,"output":2}}"#,
        ),
    ),
    (
        "dashscope/qwen-three",
        r#"{"litellm_provider": "dashscope", "mode": "chat", "max_input_tokens": 1000, "max_output_tokens": 2000,
            "tiered_pricing": [
                {"input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06, "range": [0, 1]},
                {"input_cost_per_token": 2e-06, "output_cost_per_token": 2e-06, "range": [1, 2]},
                {"input_cost_per_token": 3e-06, "output_cost_per_token": 3e-06, "range": [2, 3]}]}"#,
        Some(r#"{"id":"qwen-three","context":1000,"output":1000,"supports":[]}"#),
    ),
    (
        "dashscope/qwen-thoughts",
        r#"{"litellm_provider": "dashscope", "mode": "chat", "max_input_tokens": 1000, "max_output_tokens": 10,
            "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06, "output_cost_per_reasoning_token": 4e-06}"#,
        Some(r#"{"id":"qwen-thoughts","context":1000,"output":10,"supports":[]}"#),
    ),
    // A model of another vendor at this host is ignored, and so is a feature that DeepSeek rejects
    // although the list contains it.
    (
        "dashscope/deepseek-house",
        r#"{"litellm_provider": "dashscope", "mode": "chat", "max_input_tokens": 1, "max_output_tokens": 1}"#,
        None,
    ),
    (
        "deepseek/deepseek-house",
        r#"{"litellm_provider": "deepseek", "mode": "chat", "max_input_tokens": 1000, "max_output_tokens": 10,
            "supports_response_schema": true, "supports_function_calling": true}"#,
        Some(r#"{"id":"deepseek-house","context":1000,"output":10,"supports":["tools"]}"#),
    ),
    // Models that are not for chat, do not produce text, or have no context window are ignored.
    (
        "text-embedding-house",
        r#"{"litellm_provider": "openai", "mode": "embedding", "max_input_tokens": 1, "max_output_tokens": 1}"#,
        None,
    ),
    (
        "gemini/song",
        r#"{"litellm_provider": "gemini", "mode": "chat", "max_input_tokens": 1, "max_output_tokens": 1,
            "supported_output_modalities": ["audio"]}"#,
        None,
    ),
    (
        "gpt-secret",
        r#"{"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06}"#,
        None,
    ),
    ("gpt-latest", r#"{"alias_of": "gpt-new"}"#, None),
];

/// The previous table. Of the models that the list no longer contains, only those with a shutdown
/// date are preserved.
const BEFORE: &str = r#"{"litellm":"0.9.0","day":"2026-10-01","models":[
{"id":"claude-gone","context":9,"output":9,"supports":[],"ends":"2026-10-20"},
{"id":"claude-house-5","context":9,"output":9,"supports":[],"ends":"2026-10-20"},
{"id":"claude-lost","context":9,"output":9,"supports":[]}
]}"#;

#[test]
fn the_table_is_made_of_the_list() {
    let wheel = Wheel::unpacked();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/facts/table.py");
    let made = Command::new("python3")
        .args([script, wheel.0.clone(), wheel.0.join("before.json")])
        .output()
        .unwrap();
    let table = String::from_utf8(made.stdout).unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");

    let gone = r#"{"id":"claude-gone","context":9,"output":9,"supports":[],"ends":"2026-10-20"}"#;
    let mut lines: Vec<&str> = ROWS.iter().filter_map(|(.., line)| *line).collect();
    lines.push(gone);
    lines.sort_unstable();
    let head = r#"{"litellm":"1.0.0","day":"2026-11-20","models":["#;
    assert_eq!(table, format!("{head}\n{}\n]}}\n", lines.join(",\n")));
}

/// A folder with the files that the script reads from a wheel.
struct Wheel(PathBuf);

impl Wheel {
    fn unpacked() -> Self {
        let name = format!("quillet-wheel-{}", std::process::id());
        let wheel = Wheel(std::env::temp_dir().join(name));
        let rows: Vec<String> = ROWS
            .iter()
            .map(|(name, facts, _)| format!("{name:?}: {facts}"))
            .collect();
        let prices = "litellm/model_prices_and_context_window_backup.json";
        let about = "litellm-1.0.0.dist-info";
        for (path, text) in [
            (prices, format!("{{{}}}", rows.join(",\n"))),
            (
                &format!("{about}/METADATA"),
                "Metadata-Version: 2.4\nName: litellm\nVersion: 1.0.0\n".to_owned(),
            ),
            (
                &format!("{about}/sboms/one.json"),
                r#"{"metadata": {"timestamp": "2026-11-20T03:38:35Z"}}"#.to_owned(),
            ),
            ("before.json", BEFORE.to_owned()),
        ] {
            let path = wheel.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        wheel
    }
}

impl Drop for Wheel {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
