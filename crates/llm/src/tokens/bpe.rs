//! OpenAI's tokenizers, implemented by tiktoken-rs.
//!
//! A text is tokenized in chunks, split where a token ends in any case. A long run of letters or
//! spaces could otherwise take quadratic time, or exhaust the backtracking limit of the regular
//! expression, which would panic.

use quillet_core::chat::TokenCounter;
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

/// Maximum length of a chunk in bytes.
const PIECE: usize = 4 << 10;

/// A tokenizer of OpenAI.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bpe {
    O200k,
    Cl100k,
}

impl Bpe {
    fn tokenizer(self) -> &'static CoreBPE {
        match self {
            Bpe::O200k => o200k_base_singleton(),
            Bpe::Cl100k => cl100k_base_singleton(),
        }
    }
}

impl TokenCounter for Bpe {
    fn count_text(&self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        // Text that looks like a special token is counted as ordinary text.
        count(text, PIECE, |piece| {
            self.tokenizer().encode_ordinary(piece).len()
        })
    }

    /// Only for texts of one chunk: `logit_bias` needs no longer ones, and splitting could change
    /// the ids.
    fn token_ids(&self, text: &str) -> Option<Vec<u32>> {
        (text.len() <= PIECE).then(|| self.tokenizer().encode_ordinary(text))
    }
}

/// Returns the sum over chunks of at most `most` bytes, but at least four, so any character fits.
fn count(text: &str, most: usize, count: impl Fn(&str) -> usize) -> u64 {
    let mut rest = text;
    let mut sum = 0;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(cut(rest, most));
        sum += count(piece) as u64;
        rest = tail;
    }
    sum
}

/// Returns the position of the split: the last token boundary, or otherwise a character boundary.
/// Never 0.
fn cut(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let end = text.floor_char_boundary(most.max(4));
    let mut after = text[end..].chars().next();
    let mut characters = text[..end].char_indices().rev();
    let mut current = characters.next();
    while let Some((at, character)) = current {
        let before = characters.next();
        if let (Some((_, before)), Some(after)) = (before, after)
            && is_boundary(before, character, after)
        {
            return at;
        }
        after = Some(character);
        current = before;
    }
    end
}

/// Whether both tokenizers always start a new token at `at`: a single space between words, the
/// character after a line break, or Chinese punctuation after a Chinese character.
fn is_boundary(before: char, at: char, after: char) -> bool {
    let is_chinese = |character| matches!(character, '\u{4e00}'..='\u{9fff}');
    match (before, at) {
        (_, ' ') => !before.is_whitespace() && !after.is_whitespace(),
        ('\n', _) => !at.is_whitespace() && at != '/',
        (_, '，' | '。' | '、' | '！' | '？' | '；') => is_chinese(before),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_are_those_of_openais_own_tokenizer() {
        // OpenAI's own package returns these counts.
        for (text, o200k, cl100k) in [
            ("", 0, 0),
            ("Hello, world!", 4, 4),
            ("tiktoken is great!", 6, 6),
            // Counted as text instead of the single token that ends a document.
            ("<|endoftext|>", 7, 7),
        ] {
            assert_eq!(Bpe::O200k.count_text(text), o200k, "{text}");
            assert_eq!(Bpe::Cl100k.count_text(text), cl100k, "{text}");
        }
        // The encoding o200k was designed to need fewer tokens for Chinese.
        let chinese = "今天天气很好，我们去公园散步吧。";
        assert!(Bpe::O200k.count_text(chinese) < Bpe::Cl100k.count_text(chinese));
    }

    #[test]
    fn long_runs_of_one_character_are_counted() {
        for character in ["a", " ", "\n", "文", "🙂", "'", "\u{300}"] {
            let text = character.repeat(40_000 / character.len());
            let tokens = Bpe::O200k.count_text(&text);
            assert!(
                (1..=text.len() as u64).contains(&tokens),
                "{character:?}: {tokens}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn pieces_have_as_many_tokens_as_the_whole(
            words in prop::collection::vec("[a-zA-Z]{1,9}[.,!?']?|[0-9]{1,5}|[a-z]'(s|ll|t)|[一-十]{2,6}[，。]", 1..60),
            separators in prop::collection::vec("[ ]|\n|\n\n|  ", 60),
            most in 24_usize..200,
        ) {
            let text: String = words
                .iter()
                .zip(&separators)
                .flat_map(|(word, separator)| [word.as_str(), separator.as_str()])
                .collect();
            for bpe in [Bpe::O200k, Bpe::Cl100k] {
                let whole = bpe.tokenizer().encode_ordinary(&text).len() as u64;
                let mut forced = 0;
                let mut rest = text.as_str();
                while !rest.is_empty() {
                    let at = cut(rest, most);
                    let tail: Vec<char> = rest[at..].chars().take(2).collect();
                    let before = rest[..at].chars().next_back();
                    if let (Some(before), [first, second, ..]) = (before, tail.as_slice()) {
                        forced += u64::from(!is_boundary(before, *first, *second));
                    }
                    rest = &rest[at..];
                }
                let pieces = count(&text, most, |piece| bpe.tokenizer().encode_ordinary(piece).len());
                prop_assert!(whole.abs_diff(pieces) <= 2 * forced, "{whole} {pieces} {forced}: {text:?}");
            }
        }

        #[test]
        fn any_text_is_cut_into_itself(text in "\\PC{0,300}", most in 4_usize..40) {
            let sum = count(&text, most, |piece| {
                assert!(!piece.is_empty() && piece.len() <= most);
                piece.len()
            });
            prop_assert_eq!(sum, text.len() as u64);
        }
    }

    #[test]
    fn ids_are_as_many_as_tokens_and_of_short_texts_only() {
        for text in ["", " happy", "敏感词", "<|endoftext|>"] {
            let ids = Bpe::O200k.token_ids(text).unwrap();
            assert_eq!(ids.len() as u64, Bpe::O200k.count_text(text), "{text}");
        }
        assert_eq!(Bpe::Cl100k.token_ids(&"a ".repeat(PIECE)), None);
    }
}
