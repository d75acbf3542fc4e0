//! Splits text into words, at identifier boundaries and between scripts.
//!
//! See [`super::terms`] for base forms and for compound words without separators.

/// A run of characters of one kind, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextRun {
    /// Letters of an alphabet.
    Word(String),
    /// Digits.
    Number(String),
    /// Characters of a script without spaces.
    Characters(Vec<char>),
}

/// Maximum characters of one text. Names and comments are far shorter.
pub(super) const LONGEST_TEXT: usize = 10_000;
/// Maximum letters of one word; further ones are dropped.
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

/// Returns whether it is Han, kana or hangul, where one character is about one syllable.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Returns the runs of a text in order: `HTTPServer_v2 订单` becomes `http`, `server`, `v`, `2`,
/// `订单`.
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

/// Returns the end of the run that starts at `start`. `HTTPServer` is split before the `S`, because
/// the last capital belongs to the next word. `HTTPs` is not split.
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

/// Returns adjacent pairs of characters, which approximate words. For ranking tables they work as
/// well as a segmenter, but do not need a dictionary. A single character is returned alone.
pub(super) fn bigrams(run: &[char]) -> Vec<String> {
    if run.len() < 2 {
        return run.iter().map(char::to_string).collect();
    }
    run.windows(2).map(|pair| pair.iter().collect()).collect()
}
