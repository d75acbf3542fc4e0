//! Words of names, comments and questions, so that they can be compared.

use std::collections::HashSet;

/// Words that say nothing of what is asked.
const EMPTY: [&str; 50] = [
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "did", "do", "does",
    "each", "every", "find", "for", "from", "get", "give", "had", "has", "have", "how", "i", "in",
    "is", "it", "list", "many", "me", "of", "on", "or", "our", "per", "please", "show", "that",
    "the", "their", "there", "to", "was", "we", "were", "what", "which", "with",
];

/// The words of a text: parts of names (`orderItems`, `order_items`) and of sentences in lower case
/// without the ending of a plural; pairs of characters where a script has no spaces.
pub(super) fn words(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    for run in runs(text) {
        if run.is_ascii() {
            let word = run.to_ascii_lowercase();
            if !EMPTY.contains(&word.as_str()) {
                found.insert(singular(&word));
            }
            continue;
        }
        let characters: Vec<char> = run.chars().collect();
        found.extend(characters.windows(2).map(|pair| pair.iter().collect()));
    }
    found
}

/// Runs of letters and digits, cut where a small letter is followed by a capital one and where the
/// script changes.
fn runs(text: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let hump = before.is_lowercase() && c.is_uppercase();
        let script = before.is_alphanumeric() && before.is_ascii() != c.is_ascii();
        if !c.is_alphanumeric() || hump || script {
            runs.push(&text[start..at]);
            start = if c.is_alphanumeric() {
                at
            } else {
                at + c.len_utf8()
            };
        }
        before = c;
    }
    runs.push(&text[start..]);
    runs.retain(|run| !run.is_empty());
    runs
}

/// A word without the ending of a plural.
fn singular(word: &str) -> String {
    for (ending, instead, least) in [
        ("ies", "y", 5),
        ("sses", "ss", 5),
        ("ches", "ch", 6),
        ("xes", "x", 4),
        ("s", "", 4),
    ] {
        let Some(stem) = word.strip_suffix(ending).filter(|_| word.len() >= least) else {
            continue;
        };
        let kept = ["ss", "us", "is"].iter().any(|kept| word.ends_with(kept));
        if !(kept && ending == "s") {
            return format!("{stem}{instead}");
        }
    }
    word.to_owned()
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
