//! Tests the validator's rules with a table of cases.

#![allow(clippy::unwrap_used)]

use quillet_schema::{Rules, SchemaDraft, Validator, ViolationKind};
use serde_json::{Value, json};

fn first(schema: &Value, rules: Rules, value: &Value) -> Option<String> {
    let validator = Validator::new(schema, rules).unwrap();
    let findings = validator.findings(value, 1);
    assert_eq!(validator.accepts(value), findings.is_empty());
    findings.into_iter().next().map(|finding| finding.message)
}

#[test]
fn each_rule_changes_what_it_says() {
    let plain = Rules::default();
    let seven = Rules {
        draft: SchemaDraft::Seven,
        ..plain
    };
    let formats = Rules {
        formats: true,
        ..plain
    };
    let masked = Rules {
        masked: true,
        ..plain
    };
    // `prefixItems` was added after Draft-07, where an array in `items` had the same meaning.
    let (now, then) = (
        json!({"prefixItems": [{"type": "string"}]}),
        json!({"items": [{"type": "string"}]}),
    );
    let named = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "string"}]});
    let mail = json!({"format": "email"});
    let no_text = Some(r#"7 is not of type "string""#);
    for (schema, rules, value, expected) in [
        (&now, plain, json!([7]), no_text),
        (&now, seven, json!([7]), None),
        (&then, seven, json!([7]), no_text),
        (&named, seven, json!([7]), no_text),
        (&mail, plain, json!("nobody"), None),
        (
            &mail,
            formats,
            json!("nobody"),
            Some(r#""nobody" is not a "email""#),
        ),
        (
            &json!({"type": "string"}),
            masked,
            json!(7),
            Some(r#"value is not of type "string""#),
        ),
    ] {
        let found = first(schema, rules, &value);
        assert_eq!(found.as_deref(), expected, "{schema} {rules:?} {value}");
    }
}

#[test]
fn findings_say_where_and_what_they_are() {
    let schema = json!({
        "type": "object",
        "properties": {"a/b": {"type": "integer"}, "list": {"items": {"minimum": 3}}},
        "required": ["name"],
        "additionalProperties": false,
    });
    let validator = Validator::new(&schema, Rules::default()).unwrap();
    let value = json!({"a/b": "x", "list": [4, 2], "y": 1});
    let mut found: Vec<_> = validator.findings(&value, 10);
    found.sort_by(|a, b| a.pointer.cmp(&b.pointer).then(a.message.cmp(&b.message)));
    let found: Vec<_> = found.into_iter().map(|it| (it.pointer, it.kind)).collect();
    assert_eq!(
        found,
        [
            (String::new(), ViolationKind::Missing("name".to_owned())),
            (String::new(), ViolationKind::Unknown(vec!["y".to_owned()])),
            ("/a~1b".to_owned(), ViolationKind::Type),
            ("/list/1".to_owned(), ViolationKind::Other),
        ]
    );
    assert_eq!(validator.findings(&value, 2).len(), 2);
}

#[test]
fn no_schema_is_fetched_and_none_runs_away() {
    let remote = json!({"$ref": "https://schemas.invalid/one.json"});
    assert!(Validator::new(&remote, Rules::default()).is_err());
    let error = Validator::new(&json!({"properties": {"a": {"type": 7}}}), Rules::default());
    assert_eq!(error.unwrap_err().pointer, "/properties/a/type");
    // Backtracking steps grow exponentially with the length; the limit stops them.
    let slow = json!({"pattern": r"^(?=(a|aa)+$)(a|aa)+b$"});
    let validator = Validator::new(&slow, Rules::default()).unwrap();
    assert!(!validator.accepts(&json!("a".repeat(60))));
}
