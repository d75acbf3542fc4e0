//! Response schemas in the form that the provider accepts.

use serde_json::Value;

/// Maximum depth; no provider compiles deeper schemas.
const MOST_LEVELS: usize = 64;

/// Adds `additionalProperties: false` to every object that does not set it. The provider rejects
/// schemas that leave it open.
pub(super) fn closed(schema: &Value) -> Value {
    let mut schema = schema.clone();
    close(&mut schema, MOST_LEVELS);
    schema
}

fn close(schema: &mut Value, levels: usize) {
    let Some(levels) = levels.checked_sub(1) else {
        return;
    };
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| close(schema, levels)),
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "object") {
                let open = members.entry("additionalProperties");
                open.or_insert(Value::Bool(false));
            }
            // The values of these keywords are data and not schemas.
            let is_schema = |key: &str| !matches!(key, "const" | "default" | "enum" | "examples");
            let inner = members.iter_mut().filter(|(key, _)| is_schema(key));
            inner.for_each(|(_, schema)| close(schema, levels));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_closed_wherever_they_stand() {
        let schema = json!({
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["object"]},
                "open": {"type": "object", "additionalProperties": {"type": "number"}},
                "list": {"type": "array", "items": {"type": "object", "properties": {}}},
                "fixed": {"const": {"type": "object"}},
            },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["object"]},
                "open": {"type": "object", "additionalProperties": {"type": "number"}},
                "list": {"type": "array", "items": {"type": "object", "properties": {}, "additionalProperties": false}},
                "fixed": {"const": {"type": "object"}},
            },
            "additionalProperties": false,
        });
        assert_eq!(closed(&schema), expected);
    }
}
