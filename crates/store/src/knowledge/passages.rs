//! Splits documents into passages.

/// Splits a text into passages of at most `length` characters: at the end of a paragraph in the
/// second half, or otherwise at the end of a line, a sentence or a word. Each passage begins up to
/// `overlap` characters before the end of the previous one.
pub(crate) fn passages(text: &str, length: usize, overlap: usize) -> Vec<&str> {
    let length = length.max(1);
    // A larger overlap could make the next passage start before the current passage.
    let overlap = overlap.min(length / 2);
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        let Some((limit, _)) = rest.char_indices().nth(length) else {
            add(&mut out, rest);
            return out;
        };
        let cut = cut_before(rest, limit);
        add(&mut out, rest.get(..cut).unwrap_or_default());
        let next = begin_before(rest, cut, overlap);
        rest = rest.get(next..).unwrap_or_default();
    }
}

fn add<'a>(out: &mut Vec<&'a str>, passage: &'a str) {
    let passage = passage.trim();
    if !passage.is_empty() {
        out.push(passage);
    }
}

/// Returns the best offset to end a passage, at most `limit`.
fn cut_before(text: &str, limit: usize) -> usize {
    let window = text.get(..limit).unwrap_or_default();
    let ends: [&[&str]; 4] = [
        &["\n\n", "\n\r\n"],
        &["\n"],
        &[". ", "! ", "? ", "。", "！", "？", "；"],
        &[" ", "\t"],
    ];
    let last = |ends: &[&str]| {
        let end = |end: &&str| Some(window.rfind(end)? + end.len());
        ends.iter().filter_map(end).max()
    };
    // A cut in the first half would make very short passages.
    let late = |cut: &usize| *cut > limit / 2;
    ends.iter()
        .find_map(|ends| last(ends).filter(late))
        .unwrap_or(limit)
}

/// Returns the start of the next passage: at most `overlap` characters before `cut`, after a space
/// if possible, and never 0.
fn begin_before(text: &str, cut: usize, overlap: usize) -> usize {
    let before = text.get(..cut).unwrap_or_default();
    let back = before.char_indices().rev().take(overlap).last();
    let Some((start, _)) = back.filter(|(start, _)| *start > 0) else {
        return cut;
    };
    let (left, shared) = before.split_at(start);
    if left.ends_with(char::is_whitespace) {
        return start;
    }
    match shared.trim_end().find(char::is_whitespace) {
        Some(space) => start + space,
        None => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_end_where_the_text_does() {
        let cases: [(&str, usize, usize, &[&str]); 7] = [
            ("", 10, 2, &[]),
            (" \n\n ", 10, 2, &[]),
            ("short", 10, 2, &["short"]),
            ("one two.\n\nthree four", 12, 0, &["one two.", "three four"]),
            ("Aaa bbb. Ccc ddd eee", 12, 0, &["Aaa bbb.", "Ccc ddd eee"]),
            (
                "aaaa bbbb cccc dddd",
                10,
                5,
                &["aaaa bbbb", "bbbb cccc", "cccc dddd"],
            ),
            (
                "一二三四五六七八九十",
                4,
                1,
                &["一二三四", "四五六七", "七八九十"],
            ),
        ];
        for (text, length, overlap, expected) in cases {
            assert_eq!(passages(text, length, overlap), expected, "{text:?}");
        }
    }

    /// For any text and any settings, splitting ends, loses nothing, and no passage is too long.
    #[test]
    fn nothing_is_lost() {
        let texts = [
            "word ".repeat(500),
            "x".repeat(3000),
            "日本語。テスト\n".repeat(200),
            "a\n\nb\r\n\r\nc ".repeat(300),
            " ".repeat(2000) + "end",
        ];
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        for text in &texts {
            for (length, overlap) in [(0, 0), (1, 9), (2, 1), (7, 3), (100, 99), (1000, 150)] {
                let cut = passages(text, length, overlap);
                let short = |passage: &&str| passage.chars().count() <= length.max(1);
                assert!(cut.iter().all(short));
                assert!(letters(&cut.concat()).len() >= letters(text).len());
                let whole = letters(&passages(text, length, 0).concat());
                assert_eq!(whole, letters(text));
            }
        }
    }

    #[test]
    fn a_word_is_whole_in_some_passage() {
        let words: Vec<String> = (0..2000).map(|n| format!("w{n}")).collect();
        for (length, overlap) in [(20, 0), (20, 10), (100, 30), (1000, 150)] {
            let text = words.join(" ");
            let cut = passages(&text, length, overlap);
            let found = |word: &String| {
                cut.iter()
                    .any(|passage| passage.split(' ').any(|at| at == word))
            };
            assert!(words.iter().all(found), "{length}, {overlap}");
        }
    }
}
