//! Tokenization of texts for the index, and of questions for the search.
//!
//! Scripts without spaces between words are split into pairs of characters, all others into words
//! without case and accents. Tokens consist of letters and digits only, so no text and no question
//! can contain query syntax.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;

/// Maximum length of a word in characters; longer words are truncated.
const MAX_WORD: usize = 40;
/// Maximum number of words in a question.
const MAX_ASKED: usize = 64;

/// Returns the words of a text, separated by spaces. Text without spaces becomes pairs and single
/// characters, so a question of one character also finds it.
pub(crate) fn indexed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    each_run(text, |run| match run {
        CharRun::Word(word) => push(&mut out, word),
        CharRun::Unspaced(characters) => {
            characters
                .iter()
                .for_each(|c| push(&mut out, &c.to_string()));
            pairs(characters, |pair| push(&mut out, pair));
        }
    });
    out
}

/// Returns the phrases that an indexed text must contain to match every word of a search. A phrase
/// is a word, or the consecutive pairs of a text without spaces, so that text is found inside a
/// longer one and nowhere else.
pub(crate) fn phrases(search: &str) -> Vec<String> {
    let (mut seen, mut out) = (HashSet::new(), Vec::new());
    each_run(search, |run| {
        let mut phrase = String::new();
        match run {
            CharRun::Word(word) => phrase.push_str(word),
            CharRun::Unspaced([single]) => phrase.push(*single),
            CharRun::Unspaced(characters) => pairs(characters, |pair| push(&mut phrase, pair)),
        }
        if out.len() < MAX_ASKED && seen.insert(phrase.clone()) {
            out.push(phrase);
        }
    });
    out
}

/// Returns the distinct words of a question.
pub(crate) fn query_words(question: &str) -> Vec<String> {
    let (mut seen, mut out) = (HashSet::new(), Vec::new());
    let mut add = |word: &str| {
        if out.len() < MAX_ASKED && seen.insert(word.to_owned()) {
            out.push(word.to_owned());
        }
    };
    each_run(question, |run| match run {
        CharRun::Word(word) => add(word),
        CharRun::Unspaced([single]) => add(&single.to_string()),
        CharRun::Unspaced(characters) => pairs(characters, &mut add),
    });
    out
}

fn push(out: &mut String, word: &str) {
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

fn pairs(characters: &[char], mut each: impl FnMut(&str)) {
    for pair in characters.windows(2) {
        each(&String::from_iter(pair));
    }
}

/// A sequence of characters of the same kind.
enum CharRun<'a> {
    Word(&'a str),
    Unspaced(&'a [char]),
}

fn each_run(text: &str, mut each: impl FnMut(CharRun<'_>)) {
    // Converts full-width letters, ligatures and half-width kana to common characters.
    let (mut word, mut unspaced) = (String::new(), Vec::new());
    for c in text.nfkc().chain([' ']) {
        let in_unspaced = is_letter(c) && is_unspaced(c);
        let in_word = is_letter(c) && !in_unspaced;
        if !in_word && !word.is_empty() {
            each(CharRun::Word(&folded(&word)));
            word.clear();
        }
        if !in_unspaced && !unspaced.is_empty() {
            each(CharRun::Unspaced(&unspaced));
            unspaced.clear();
        }
        if in_word {
            word.push(c);
        } else if in_unspaced {
            unspaced.push(c);
        }
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || is_accent(c)
}

/// Removes case and accents.
fn folded(word: &str) -> String {
    let lower = word.to_lowercase();
    if lower.is_ascii() {
        return lower.chars().take(MAX_WORD).collect();
    }
    let letters = lower.nfd().filter(|c| !is_accent(*c));
    letters.take(MAX_WORD).collect()
}

/// Unicode blocks of combining marks that no script needs for its letters.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer. (Korean uses spaces, but its words have
/// endings.)
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_words() {
        let cases = [
            ("Hello, World!", "hello world"),
            ("Café CAFE\u{301} naïve Łódź", "cafe cafe naive łodz"),
            ("gpt-4.1 snake_case don't", "gpt 4 1 snake case don t"),
            ("ＦＵＬＬ ﬁne ①", "full fine 1"),
            ("北京大学", "北 京 大 学 北京 京大 大学"),
            ("用Rust写", "用 rust 写"),
            ("ｶﾞ행", "ガ 행 ガ행"),
            ("\"a\" NEAR(b) OR c* col:d ^e", "a near b or c col d e"),
            ("\0 \u{1f600} --", ""),
            ("", ""),
        ];
        for (text, words) in cases {
            assert_eq!(indexed(text), words, "{text}");
        }
        assert_eq!(indexed(&"x".repeat(1000)).len(), MAX_WORD);
    }

    #[test]
    fn questions_become_words_once_each() {
        assert_eq!(query_words("大学 大学 a A 猫"), ["大学", "a", "猫"]);
        let long: String = (0..1000).map(|n| format!("w{n} ")).collect();
        assert_eq!(query_words(&long).len(), MAX_ASKED);
    }

    #[test]
    fn searches_become_phrases_once_each() {
        assert_eq!(phrases("大学生 A 猫 a"), ["大学 学生", "a", "猫"]);
        assert_eq!(phrases("order_items"), ["order", "items"]);
        assert!(phrases("\"*\" ()").is_empty());
        let long: String = (0..1000).map(|n| format!("w{n} ")).collect();
        assert_eq!(phrases(&long).len(), MAX_ASKED);
    }

    /// The words of a question are in the index of any text that contains the question.
    #[test]
    fn every_word_of_a_question_is_a_word_of_its_text() {
        for text in [
            "Ünïcode und ÄÖÜ",
            "東京都に住む",
            "สวัสดีครับ",
            "हिन्दी भाषा",
            "İstanbul",
            "한국어 문장",
        ] {
            let index = indexed(text);
            let index: HashSet<&str> = index.split(' ').collect();
            for word in query_words(text) {
                assert!(index.contains(word.as_str()), "{word} of {text}");
            }
        }
    }
}
