//! Splits names, comments and questions into comparable words.

use std::collections::HashSet;

use crate::rank::Terms;

/// Stop words.
const EMPTY: [&str; 50] = [
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "did", "do", "does",
    "each", "every", "find", "for", "from", "get", "give", "had", "has", "have", "how", "i", "in",
    "is", "it", "list", "many", "me", "of", "on", "or", "our", "per", "please", "show", "that",
    "the", "their", "there", "to", "was", "we", "were", "what", "which", "with",
];

/// Returns the words of a text as table ranking splits them: parts of names and sentences in their
/// base form, and pairs of characters in scripts without spaces.
pub(super) fn words(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    Terms::default().of(text, |word| {
        if !EMPTY.contains(&word.as_str()) {
            found.insert(word);
        }
    });
    found
}

/// Returns the number of words that two texts share.
pub(super) fn common(one: &HashSet<String>, other: &HashSet<String>) -> usize {
    one.intersection(other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_into_words() {
        for (text, expected) in [
            ("order_items", "item order"),
            ("OrderItems", "item order"),
            ("How many categories are there?", "category"),
            ("status of the boxes", "box status"),
            ("付款方式 payment method", "method payment 付款 方式 款方"),
            ("客户id", "id 客户"),
            ("", ""),
        ] {
            let mut words: Vec<String> = words(text).into_iter().collect();
            words.sort();
            assert_eq!(words.join(" "), expected);
        }
    }
}
