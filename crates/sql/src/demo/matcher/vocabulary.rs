//! Words of names, comments and questions, so that they can be compared.

use std::collections::HashSet;

use crate::rank::Terms;

/// Words that say nothing of what is asked.
const EMPTY: [&str; 50] = [
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "did", "do", "does",
    "each", "every", "find", "for", "from", "get", "give", "had", "has", "have", "how", "i", "in",
    "is", "it", "list", "many", "me", "of", "on", "or", "our", "per", "please", "show", "that",
    "the", "their", "there", "to", "was", "we", "were", "what", "which", "with",
];

/// The words of a text as tables are ranked by them: parts of names and of sentences in their base
/// form; pairs of characters where a script has no spaces.
pub(super) fn words(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    Terms::default().of(text, |word| {
        if !EMPTY.contains(&word.as_str()) {
            found.insert(word);
        }
    });
    found
}

/// How many words two texts have in common.
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
