//! The words of a text, in the form in which texts are compared.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::split::{LONGEST_TEXT, TextRun, pieces};
use super::terms::base;

/// The words of a text for comparing it with another: in base form and without accents, digits as
/// they are, each character of a script without spaces for itself.
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
