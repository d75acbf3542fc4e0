//! Diagnostics of invalid tool definitions, and their locations.

use quillet_core::tool::ToolBuilder;
use quillet_core::{Diagnostic, Value};
use quillet_tools::builtin::BuiltinOptions;
use quillet_tools::{McpOrigin, McpServerConfig, McpServers, Tools, ToolsConfig};
use serde_json::json;

use crate::support::{build, text, tools, try_build};

fn lines(findings: &[Diagnostic]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn errors_have_places_and_mends() {
    let cases = [
        (
            "{\n \"type\": \"restful\",,}",
            "tools:t:2:20: the definition is not JSON: key must be a string",
        ),
        (
            "",
            "tools:t:1:1: the definition is not JSON: EOF while parsing a value",
        ),
        ("[]", "tools:t:1:1: a tool definition is a JSON object"),
        ("{}", "tools:t:1:1: the definition has no type"),
        (
            r#"{"type": "soap"}"#,
            r#"tools:t:1:10: type: unknown type "soap" (expected one of restful, grpc, mcp)"#,
        ),
        (
            r#"{"type": "restful"}"#,
            r#"tools:t:1:1: restful: a restful tool needs a "url""#,
        ),
        (
            "{\"restful\": {\n  \"url\": 7}}",
            "tools:t:2:10: restful.url: expected a string, found integer",
        ),
        (
            "{\"restful\": {\"url\": \"http://h/\",\n \"method\": \"TRACE\"}}",
            r#"tools:t:2:12: restful.method: unknown method "TRACE" (expected one of GET, POST, PUT, PATCH, DELETE)"#,
        ),
        (
            r#"{"restful": {"url": "ftp://h/"}}"#,
            r#"tools:t:1:21: restful.url: the scheme of ftp://h/ is "ftp"; tools support http and https"#,
        ),
        (
            r#"{"restful": {"url": "http://u:p@h/"}}"#,
            "tools:t:1:21: restful.url: a tool's url must not contain a user name or password (send them in a header)",
        ),
        (
            r#"{"restful": {"url": "http://h/{x}"}}"#,
            "tools:t:1:21: restful.url: {x} is not a parameter of the tool",
        ),
        (
            r#"{"restful": {"url": "http://169.254.169.254/"}}"#,
            "tools:t:1:21: restful.url: tools may not connect to 169.254.169.254: 169.254.169.254 is a link-local address",
        ),
        (
            r#"{"type": "restful", "url": "/x", "parameters": {"type": "objekt"}}"#,
            "tools:t:1:57: parameters.type: not a JSON Schema",
        ),
        (
            r#"{"type": "restful", "url": "/x", "parameters": [{"nam": "x"}]}"#,
            "tools:t:1:49: parameters.0: each entry of the list is an object with a \"name\"",
        ),
        (
            r#"{"type": "restful", "url": "/x", "parameters": 3}"#,
            "tools:t:1:48: parameters: expected a JSON Schema or a list of parameters",
        ),
        (
            r#"{"type": "restful", "url": "/x", "timeout_ms": -1}"#,
            "tools:t:1:48: timeout_ms: expected a whole number above 0, found integer",
        ),
        (
            r#"{"type": "restful", "url": "/x", "headers": {"Host": "x"}}"#,
            r#"tools:t:1:45: headers: "Host" is set by the client itself (leave it out)"#,
        ),
        (
            r#"{"type": "restful", "url": "ftp://h/"}"#,
            r#"tools:t:1:28: url: the scheme of ftp://h/ is "ftp""#,
        ),
        (
            r#"{"type": "restful", "url": "/x"}"#,
            r#"tools:t:1:28: url: the url is relative, so the tool needs a "module""#,
        ),
        (
            r#"{"type": "grpc"}"#,
            "tools:t:1:1: grpc: a grpc tool needs a \"service\" and a \"method\"",
        ),
        (
            r#"{"grpc": {"url": "h:1", "service": "s", "method": "m", "descriptor_set": "!"}}"#,
            "grpc.descriptor_set: not base64",
        ),
        (
            r#"{"grpc": {"url": "h:1", "service": "s", "method": "m", "descriptor_set": "AAAA"}}"#,
            "grpc.descriptor_set: not a descriptor set",
        ),
        (
            r#"{"type": "mcp", "mcp": {}}"#,
            "tools:t:1:24: mcp: an mcp tool needs exactly one of",
        ),
        (
            r#"{"mcp": {"command": "rm", "tool": "x"}}"#,
            "tools:t:1:21: mcp.command: definitions cannot start programs here (name \"rm\" in \
             tools.mcp_servers",
        ),
        (
            r#"{"mcp": {"server": "chrome", "tool": "x", "headers": {"A": "b"}}}"#,
            "tools:t:1:54: mcp.headers: headers need a \"url\"",
        ),
        (
            r#"{"mcp": {"server": "crome", "tool": "x"}}"#,
            "tools:t:1:20: mcp.server: unknown server \"crome\" (did you mean \"chrome\"?)",
        ),
    ];
    let mut config = ToolsConfig::default();
    let chrome = McpServerConfig {
        command: Some("chrome-mcp".to_owned()),
        ..McpServerConfig::default()
    };
    config.mcp_servers.insert("chrome".to_owned(), chrome);
    let tools = Tools::new(config).unwrap();
    for (definition, expected) in cases {
        let findings = match try_build(&tools, definition) {
            Err(findings) => lines(&findings),
            Ok(built) => panic!("{definition} is accepted: {built:?}"),
        };
        assert!(
            findings.iter().any(|line| line.contains(expected)),
            "{definition}:\n{findings:?}\n{expected}"
        );
    }
}

#[tokio::test]
async fn unknown_keys_are_warned_of_with_the_nearest_name() {
    let definition = "{\"type\": \"restful\", \"url\": \"http://h/\",\n \"paramters\": [], \"restful\": {\"methd\": \"GET\"}, \"zzz\": 1, \"mcp\": {}}";
    let built = try_build(&tools(), definition).unwrap();
    let expected = [
        "tools:t:2:2: unknown key \"paramters\" is ignored (did you mean \"parameters\"?)",
        "tools:t:2:48: unknown key \"zzz\" is ignored (expected one of name, module",
        "tools:t:2:58: \"mcp\" is ignored because the type is \"restful\"",
        "tools:t:2:31: unknown key \"restful.methd\" is ignored (did you mean \"method\"?)",
    ];
    let warnings = lines(&built.warnings);
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    for (warning, expected) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(expected), "{warning}");
    }
}

#[tokio::test]
async fn parameters_in_three_shapes_become_one_schema() {
    let shapes = [
        json!({"type": "object", "properties": {
            "b": {"type": "string", "description": "d"}, "a": {"type": "integer", "default": 1}
        }, "required": ["b"]}),
        json!([
            {"name": "b", "type": "string", "description": "d", "required": true},
            {"name": "a", "type": "integer", "default": 1, "required": false}
        ]),
        json!({"b": {"type": "string", "description": "d", "required": true}, "a": {"type": "integer", "default": 1}}),
    ];
    for shape in shapes {
        let tool = build(
            &tools(),
            &json!({"type": "restful", "url": "http://h/", "parameters": shape}),
        );
        let spec = tool.spec();
        assert_eq!(spec.parameter_names().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(spec.parameters["required"], json!(["b"]));
        assert_eq!(
            spec.parameters["properties"]["b"],
            json!({"type": "string", "description": "d"})
        );
    }
}

#[tokio::test]
async fn what_stands_in_for_a_failed_call() {
    let nested = json!({"type": "object", "properties": {
        "items": {"type": "array"}, "page": {"type": "object", "properties": {"n": {"type": ["null", "integer"]}}}
    }});
    let cases = [
        (json!({}), r#""""#),
        (json!({"returns": []}), r#""""#),
        (json!({"returns": {"type": "string"}}), r#""""#),
        (json!({"returns": {"type": "array"}}), "[]"),
        (json!({"returns": {"type": "object"}}), "{}"),
        (json!({"returns": {"type": "number"}}), "0"),
        (json!({"returns": {"type": "integer"}}), "0"),
        (json!({"returns": {"type": "boolean"}}), "false"),
        (json!({"returns": nested}), r#"{"items":[],"page":{"n":0}}"#),
        (json!({"returns": nested, "result": "page.n"}), "0"),
        (
            json!({"returns": {"type": "string"}, "default": "n/a"}),
            r#""n/a""#,
        ),
        (
            json!({"returns": {"type": "string"}, "default": null}),
            "null",
        ),
    ];
    for (mut definition, expected) in cases {
        definition["url"] = json!("http://h/");
        definition["type"] = json!("restful");
        let tool = build(&tools(), &definition);
        assert_eq!(text(&tool.spec().default), expected, "{definition}");
    }
    let one = json!({"type": "restful", "url": "http://h/", "default": {"x": "sorry"},
        "returns": [{"name": "x", "type": "string"}]});
    let default = build(&tools(), &one).spec().default.clone();
    assert_eq!(
        default.as_map().unwrap().display_value(),
        Some(&Value::from("sorry"))
    );
}

#[test]
fn settings_are_read_and_checked() {
    let config: ToolsConfig = serde_json::from_value(json!({
        "timeout_ms": 2500, "addresses": {"scope": "public", "allow": ["10.0.0.0/8", "*.corp.example"]},
        "modules": {"m": {"base_url": "http://10.1.2.3:80/x", "headers": {"Authorization": "Bearer s"}}},
        "mcp_servers": {"s": {"command": "x", "args": ["y"], "env": {"K": "v"}}}
    }))
    .unwrap();
    assert_eq!(config.timeout.as_millis(), 2500);
    assert_eq!(config.response_bytes, 1 << 20);
    assert!(Tools::new(config).is_ok());
    let wrong = [
        (
            json!({"modules": {"m": {"base_url": "http://169.254.169.254/"}}}),
            "tools.modules.m.base_url",
        ),
        (
            json!({"modules": {"m": {"headers": {"A": "b"}}}}),
            "tools.modules.m.headers",
        ),
        (
            json!({"modules": {"m": {"descriptor_set": "/no/such/file"}}}),
            "tools.modules.m.descriptor_set",
        ),
        (json!({"mcp_servers": {"s": {}}}), "tools.mcp_servers.s"),
        (
            json!({"mcp_servers": {"s": {"url": "file:///x"}}}),
            "tools.mcp_servers.s.url",
        ),
    ];
    for (config, setting) in wrong {
        let error = Tools::new(serde_json::from_value(config).unwrap()).unwrap_err();
        assert_eq!(error.setting, setting, "{error}");
    }
    let unknown: Result<ToolsConfig, _> =
        serde_json::from_value(json!({"addresses": {"allow": ["10.0.0.0/40"]}}));
    assert!(
        unknown
            .unwrap_err()
            .to_string()
            .contains("tools.addresses.allow")
    );
    let json = "{\"type\": \"restful\", \"url\": \"/x\", \"module\": \"m\"}";
    let built = tools().build("f", "f", "k", json).unwrap();
    assert!(
        built.warnings[0]
            .message
            .contains("tools.modules.m.base_url")
    );
}

/// Returns the fenced code blocks of a language in `docs/tools.md`.
fn blocks(language: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.md");
    let page = std::fs::read_to_string(path).unwrap();
    let opening = format!("```{language}\n");
    let blocks = page.split(&opening).skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

/// Builds tools with the settings of a block, without settings that refer to files.
fn settings(block: &str) -> Tools {
    let mut settings: toml::Table = block.parse().unwrap();
    let tools = settings["tools"].as_table_mut().unwrap();
    for file in ["ca_file", "workspace"] {
        tools.remove(file);
    }
    if let Some(modules) = tools.get_mut("modules") {
        let module = modules["translator"].as_table_mut().unwrap();
        assert!(module.remove("descriptor_set").is_some());
    }
    let config: ToolsConfig = settings.remove("tools").unwrap().try_into().unwrap();
    Tools::new(config).unwrap()
}

#[tokio::test]
async fn what_the_documentation_shows_is_valid() {
    let shown: Vec<Tools> = blocks("toml").iter().map(|block| settings(block)).collect();
    let [builtin, _, tools] = <[Tools; 3]>::try_from(shown).unwrap();
    assert!(
        builtin
            .builtin("web_search", &BuiltinOptions::default())
            .is_ok()
    );
    let (lists, definitions): (Vec<String>, Vec<String>) = blocks("json")
        .into_iter()
        .partition(|block| block.starts_with('[') || block.contains("mcpServers"));
    assert_eq!((lists.len(), definitions.len()), (2, 3));
    for definition in definitions {
        let built = try_build(&tools, &definition);
        let built = built.unwrap_or_else(|findings| panic!("{definition}: {findings:?}"));
        assert!(built.warnings.is_empty(), "{:?}", built.warnings);
    }
    for list in lists {
        let list = serde_json::from_str(&list).unwrap();
        let (servers, findings) = McpServers::read(&list, McpOrigin::Configuration);
        assert!(findings.is_empty() && !servers.is_empty(), "{findings:?}");
    }
}
