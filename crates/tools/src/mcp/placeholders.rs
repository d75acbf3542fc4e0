//! Placeholders `${{path.to.value}}` in settings of MCP servers, which are replaced with task data.
//! Inserted values are not expanded again.

use serde_json::Value as Json;

/// Returns a copy of a setting with its placeholders replaced. Placeholders with an unknown path
/// remain unchanged.
pub(super) fn filled(setting: &Json, data: &Json) -> Json {
    match setting {
        Json::String(text) => Json::String(filled_text(text, data)),
        Json::Array(items) => items.iter().map(|item| filled(item, data)).collect(),
        Json::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), filled(value, data)))
            .collect(),
        other => other.clone(),
    }
}

/// Whether a setting contains placeholders.
pub(super) fn has_any(setting: &Json) -> bool {
    match setting {
        Json::String(text) => text.contains("${{"),
        Json::Array(items) => items.iter().any(has_any),
        Json::Object(fields) => fields.values().any(has_any),
        _ => false,
    }
}

fn filled_text(text: &str, data: &Json) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        out.push_str(before);
        // An unclosed placeholder is ordinary text.
        let Some((path, after)) = after.split_once("}}") else {
            out.push_str("${{");
            out.push_str(after);
            return out;
        };
        match value_at(data, path.trim()) {
            Some(Json::String(text)) => out.push_str(text),
            Some(value) => out.push_str(&value.to_string()),
            None => {
                out.push_str("${{");
                out.push_str(path);
                out.push_str("}}");
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the value at a path of keys and list indexes.
fn value_at<'d>(data: &'d Json, path: &str) -> Option<&'d Json> {
    path.split('.').try_fold(data, |part, step| match part {
        Json::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_waits_to_be_filled_is_seen_wherever_it_stands() {
        for (setting, waits) in [
            (json!("x ${{user.id}}"), true),
            (json!({"a": ["b", {"c": "${{d}}"}]}), true),
            (json!({"a": ["${b}", "{{c}}", 1, null, true]}), false),
        ] {
            assert_eq!(has_any(&setting), waits, "{setting}");
        }
    }

    #[test]
    fn paths_are_filled_and_unknown_ones_left() {
        let data = json!({"user": {"id": 7, "name": "Ö ${{user.id}}"}, "git": [{"url": "u"}], "ok": true, "none": null});
        let cases = [
            ("${{user.id}}", "7"),
            ("a ${{ user.id }}/${{git.0.url}} b", "a 7/u b"),
            ("${{user.name}}", "Ö ${{user.id}}"),
            ("${{git}}", r#"[{"url":"u"}]"#),
            ("${{ok}}${{none}}", "truenull"),
            (
                "${{git.1.url}} ${{user.id.x}} ${{}} ${{nobody}}",
                "${{git.1.url}} ${{user.id.x}} ${{}} ${{nobody}}",
            ),
            ("${{user.id", "${{user.id"),
            ("${user.id} $ {{user.id}}", "${user.id} $ {{user.id}}"),
        ];
        for (text, expected) in cases {
            assert_eq!(filled(&json!(text), &data), json!(expected), "{text}");
        }
        let nested = filled(&json!({"a": ["${{ok}}", 1], "${{ok}}": "x"}), &data);
        assert_eq!(nested, json!({"a": ["true", 1], "${{ok}}": "x"}));
    }
}
