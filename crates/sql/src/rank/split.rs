//! Splitting of text into words: identifiers at their boundaries, runs of Chinese, Japanese and
//! Korean apart.
//!
//! See [`super::terms`] for base forms and for words that were written together.

/// A run of one kind, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextRun {
    /// Letters of an alphabet.
    Word(String),
    /// Digits.
    Number(String),
    /// Characters of a script that writes no spaces.
    Characters(Vec<char>),
}

/// Most characters of one text that are read; names and comments are far shorter.
pub(super) const LONGEST_TEXT: usize = 10_000;
/// Most letters of one word; what follows is left out.
const LONGEST_WORD: usize = 128;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Upper,
    Lower,
    Digit,
    Character,
    Seam,
}

fn kind(c: char) -> CharKind {
    match c {
        _ if is_cjk(c) => CharKind::Character,
        _ if c.is_uppercase() => CharKind::Upper,
        _ if c.is_alphabetic() => CharKind::Lower,
        _ if c.is_numeric() => CharKind::Digit,
        _ => CharKind::Seam,
    }
}

/// Han, kana and hangul: scripts in which a character is about a syllable.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// The pieces of a text, in order: `HTTPServer_v2 订单` is `http`, `server`, `v`, `2`, `订单`.
pub(super) fn pieces(text: &str) -> Vec<TextRun> {
    let chars: Vec<char> = text.chars().take(LONGEST_TEXT).collect();
    let mut found = Vec::new();
    let mut start = 0;
    while start < chars.len() {
        let end = end_of_piece(&chars, start);
        let run = &chars[start..end];
        match kind(chars[start]) {
            CharKind::Seam => {}
            CharKind::Digit => found.push(TextRun::Number(run.iter().take(LONGEST_WORD).collect())),
            CharKind::Character => found.push(TextRun::Characters(run.to_vec())),
            CharKind::Upper | CharKind::Lower => found.push(TextRun::Word(lower(run))),
        }
        start = end;
    }
    found
}

fn lower(run: &[char]) -> String {
    let run = run.iter().take(LONGEST_WORD);
    run.flat_map(|c| c.to_lowercase()).collect()
}

/// Where the piece that starts at `start` ends: `HTTPServer` has its seam before the `S`
/// (the last capital belongs to the word that follows), `HTTPs` has none worth a word.
fn end_of_piece(chars: &[char], start: usize) -> usize {
    let first = kind(chars[start]);
    let run_of = |wanted: CharKind, from: usize| {
        let rest = &chars[from..];
        from + rest.iter().take_while(|c| kind(**c) == wanted).count()
    };
    if first != CharKind::Upper {
        return run_of(first, start);
    }
    let capitals = run_of(CharKind::Upper, start);
    let word = run_of(CharKind::Lower, capitals);
    let is_plural = word == capitals + 1 && chars[capitals] == 's' && capitals - start > 1;
    if word == capitals || capitals - start == 1 || is_plural {
        return word;
    }
    capitals - 1
}

/// Neighbouring pairs of characters, which stand for words without a dictionary: for ranking tables
/// they are as good as a segmenter, which would need one. A single character stands for itself.
pub(super) fn bigrams(run: &[char]) -> Vec<String> {
    if run.len() < 2 {
        return run.iter().map(char::to_string).collect();
    }
    run.windows(2).map(|pair| pair.iter().collect()).collect()
}
