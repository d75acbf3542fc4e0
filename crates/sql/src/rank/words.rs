//! Splits text into words for comparison.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::split::{LONGEST_TEXT, TextRun, pieces};
use super::terms::base;

/// Returns the words of a text for comparison: in base form and without accents. Digits stay
/// unchanged, and each character of a script without spaces is its own word.
pub(crate) fn words(text: &str) -> Vec<String> {
    let text = text
        .chars()
        .take(LONGEST_TEXT)
        .nfkd()
        .filter(|c| !is_combining_mark(*c))
        .nfc();
    let mut words = Vec::new();
    for piece in pieces(&text.collect::<String>()) {
        match piece {
            TextRun::Word(word) => words.push(base(&word)),
            TextRun::Number(digits) => words.push(digits),
            TextRun::Characters(run) => words.extend(run.iter().map(char::to_string)),
        }
    }
    words
}
