//! Truncates results to the number of characters that a caller can process.

use serde_json::Value as Tree;

/// Maximum characters of one text in a row. Long texts are truncated before whole rows are omitted.
const LONGEST_TEXT: usize = 2_000;

/// Returns the first items that together fit into `most` characters of JSON, but at least one.
pub(super) fn fitting(items: Vec<Tree>, most: usize) -> Vec<Tree> {
    let mut used = 0;
    let fits = |(index, item): &(usize, Tree)| {
        used += item.to_string().chars().count() + 1;
        // The first item is always included, so that one long row does not make the result empty.
        *index == 0 || used <= most
    };
    let items = items.into_iter().enumerate().take_while(fits);
    items.map(|(_, item)| item).collect()
}

/// Returns the value with long texts truncated and marked as such.
pub(super) fn shortened(value: Tree) -> Tree {
    match value {
        Tree::String(text) => match text.char_indices().nth(LONGEST_TEXT) {
            Some((end, _)) => {
                let more = text.chars().count() - LONGEST_TEXT;
                let head = text.get(..end).unwrap_or_default();
                Tree::String(format!("{head}… ({more} characters more)"))
            }
            None => Tree::String(text),
        },
        Tree::Array(items) => Tree::Array(items.into_iter().map(shortened).collect()),
        Tree::Object(members) => {
            let short = |(name, value)| (name, shortened(value));
            Tree::Object(members.into_iter().map(short).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_left_out_at_the_end() {
        let items = vec![json!("店铺"), json!("bb"), json!("c")];
        for (most, left) in [(0, 1), (5, 1), (10, 2), (14, 3), (100, 3)] {
            assert_eq!(fitting(items.clone(), most).len(), left, "{most}");
        }
        assert!(fitting(Vec::new(), 10).is_empty());
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "店".repeat(LONGEST_TEXT + 5);
        let cut = shortened(json!({"a": [long, 1, "short"]}));
        let text = cut["a"][0].as_str().unwrap();
        assert!(text.ends_with("店… (5 characters more)"), "{text}");
        assert_eq!((&cut["a"][1], &cut["a"][2]), (&json!(1), &json!("short")));
    }
}
