//! Call arguments that arrive in chunks. Each chunk has a path and a value; the next chunk may
//! continue a text value (`streamFunctionCallArguments`).

use serde_json::{Map, Value};

/// Maximum depth of a path, which bounds every traversal of the arguments.
const MOST_STEPS: usize = 64;

/// Partially received arguments.
#[derive(Debug)]
pub(super) struct PartialArguments {
    root: Value,
    /// Path of the last chunk. A chunk with the same path continues its text, whether or not the
    /// previous chunk announced it. Any other path starts a new value.
    last: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum PathSegment {
    Member(String),
    Item(usize),
}

impl PartialArguments {
    pub(super) fn new(begun: Option<&Value>) -> Self {
        let begun = begun.filter(|value| value.is_object()).cloned();
        PartialArguments {
            root: begun.unwrap_or_else(|| Map::new().into()),
            last: None,
        }
    }

    /// Adds a chunk.
    ///
    /// # Errors
    /// The path is invalid or skips a list item.
    pub(super) fn add(&mut self, piece: &Value) -> Result<(), String> {
        let path = piece
            .get("jsonPath")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let steps = steps(path).ok_or_else(|| format!("invalid path {path:?}"))?;
        let place = reach(&mut self.root, steps);
        let place = place.ok_or_else(|| format!("the path {path:?} skips an earlier part"))?;
        let goes_on = self.last.as_deref() == Some(path);
        match (place, value(piece)) {
            (Value::String(text), Value::String(more)) if goes_on => text.push_str(&more),
            (place, value) => *place = value,
        }
        if !goes_on {
            self.last = Some(path.to_owned());
        }
        Ok(())
    }

    pub(super) fn into_value(self) -> Value {
        self.root
    }

    /// Returns the JSON text received so far without its last character, so it cannot be mistaken
    /// for complete arguments.
    pub(super) fn into_cut_text(self) -> String {
        let mut text = self.root.to_string();
        text.pop();
        text
    }
}

fn value(piece: &Value) -> Value {
    let kinds = ["stringValue", "numberValue", "boolValue"];
    kinds
        .iter()
        .find_map(|kind| piece.get(kind))
        .cloned()
        .unwrap_or_default()
}

/// Parses a path such as `$.a.b[0]['c d']`; `None` if it is invalid.
fn steps(path: &str) -> Option<Vec<PathSegment>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = step(rest)?;
        steps.push(step);
        rest = after;
        if steps.len() > MOST_STEPS {
            return None;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

fn step(rest: &str) -> Option<(PathSegment, &str)> {
    if let Some(rest) = rest.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        return (!name.is_empty()).then(|| (PathSegment::Member(name.to_owned()), after));
    }
    let rest = rest.strip_prefix('[')?;
    for quote in ['\'', '"'] {
        if let Some(quoted) = rest.strip_prefix(quote) {
            let (name, after) = quoted.split_once(quote)?;
            return Some((
                PathSegment::Member(name.to_owned()),
                after.strip_prefix(']')?,
            ));
        }
    }
    let (number, after) = rest.split_once(']')?;
    Some((PathSegment::Item(number.parse().ok()?), after))
}

/// Returns the value at a path. Missing members and the next list item are created.
fn reach(mut place: &mut Value, steps: Vec<PathSegment>) -> Option<&mut Value> {
    for step in steps {
        place = match step {
            PathSegment::Member(name) => {
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
                place.as_object_mut()?.entry(name).or_insert(Value::Null)
            }
            PathSegment::Item(number) => {
                if place.is_null() {
                    *place = Value::Array(Vec::new());
                }
                let items = place.as_array_mut()?;
                if number == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(number)?
            }
        };
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_are_joined_where_their_paths_lead() {
        let mut arguments = PartialArguments::new(None);
        let pieces = [
            json!({"jsonPath": "$.city", "stringValue": "New ", "willContinue": true}),
            json!({"jsonPath": "$.city", "stringValue": "York"}),
            json!({"jsonPath": "$.days[0]", "numberValue": 1}),
            json!({"jsonPath": "$.days[1]", "numberValue": 2.5}),
            json!({"jsonPath": "$['odd.name'].deep", "boolValue": true}),
            json!({"jsonPath": "$[\"none\"]", "nullValue": "NULL_VALUE"}),
            json!({"jsonPath": "$.city", "stringValue": "Rome"}),
        ];
        for piece in &pieces {
            arguments.add(piece).unwrap();
        }
        let expected = json!({
            "city": "Rome", "days": [1, 2.5], "odd.name": {"deep": true}, "none": null,
        });
        assert_eq!(arguments.into_value(), expected);
    }

    #[test]
    fn pieces_without_a_place_are_refused() {
        let deep = format!("${}", ".a".repeat(MOST_STEPS + 1));
        for path in [
            "",
            "$",
            "city",
            "$.",
            "$.a[1]",
            "$.a[x]",
            "$.a['b",
            "$.a[18446744073709551616]",
            &deep,
        ] {
            let mut arguments = PartialArguments::new(None);
            let piece = json!({"jsonPath": path, "stringValue": "x"});
            assert!(arguments.add(&piece).is_err(), "{path}");
        }
    }

    #[test]
    fn what_was_cut_is_no_json() {
        let mut arguments = PartialArguments::new(None);
        let piece = json!({"jsonPath": "$.a", "stringValue": "x", "willContinue": true});
        arguments.add(&piece).unwrap();
        assert_eq!(arguments.into_cut_text(), r#"{"a":"x""#);
    }
}
