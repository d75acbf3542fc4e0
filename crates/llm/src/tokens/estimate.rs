//! Token estimates for tokenizers that are not public. Each kind of character has a fixed number of
//! tokens. The factors tend to overestimate, because providers reject requests that are too long.
//! Those of Claude and Gemini were fitted to reported usage for English and Markdown (within a
//! third, mostly above); those of other scripts follow the documentation of both providers for
//! Chinese.

use quillet_core::chat::TokenCounter;

/// Thousandths of a token for one character of each kind.
#[derive(Debug)]
pub(super) struct Factors {
    /// Letters a to z.
    letter: u64,
    /// Digits 0 to 9.
    digit: u64,
    /// Other ASCII characters.
    sign: u64,
    /// A tab, a line break, or a space after another space. A single space between two words is
    /// part of the next word.
    space: u64,
    /// Chinese, Japanese and Korean.
    cjk: u64,
    /// Letters of other scripts.
    foreign: u64,
    /// Emoji and all other characters.
    other: u64,
}

pub(super) static CLAUDE: Factors = Factors {
    letter: 280,
    digit: 700,
    sign: 1000,
    space: 250,
    cjk: 1150,
    foreign: 600,
    other: 2000,
};

pub(super) static GEMINI: Factors = Factors {
    letter: 200,
    digit: 1000,
    sign: 700,
    space: 250,
    cjk: 700,
    foreign: 450,
    other: 1500,
};

pub(super) static OTHER: Factors = Factors {
    letter: 250,
    digit: 700,
    sign: 800,
    space: 250,
    cjk: 1000,
    foreign: 600,
    other: 2000,
};

/// Counter that uses these factors.
#[derive(Debug)]
pub(super) struct Estimate(pub(super) &'static Factors);

impl TokenCounter for Estimate {
    fn count_text(&self, text: &str) -> u64 {
        let mut sum = 0_u64;
        let mut before = 'x';
        for character in text.chars() {
            sum += self.0.of(before, character);
            before = character;
        }
        sum.div_ceil(1000)
    }
}

impl Factors {
    fn of(&self, before: char, character: char) -> u64 {
        match character {
            'a'..='z' | 'A'..='Z' => self.letter,
            '0'..='9' => self.digit,
            ' ' if !before.is_whitespace() => 0,
            ' ' | '\t' | '\n' | '\r' => self.space,
            '\0'..='\x7f' => self.sign,
            // Kana to ideographs, Hangul, compatibility ideographs, full-width symbols, and rare
            // ideographs.
            '\u{2e80}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffef}'
            | '\u{20000}'..='\u{3ffff}' => self.cjk,
            _ if character.is_alphabetic() => self.foreign,
            _ => self.other,
        }
    }
}

/// Counter of the mock, whose tokens are words.
#[derive(Debug)]
pub(super) struct WordTokenizer;

impl TokenCounter for WordTokenizer {
    fn count_text(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_near_what_providers_report() {
        let prose = "Rust is a systems programming language designed for performance, reliability, and memory safety without a garbage collector, using an ownership model to enforce safe memory access at compile time. Memory safety matters because violations—like buffer overflows, use-after-free, and null pointer dereferences—are among the leading causes of security vulnerabilities and crashes in software.";
        let gemini = "Rust is a systems programming language focused on performance, reliability, and concurrency, known for guaranteeing memory safety without a garbage collector. Memory safety is crucial as it prevents common programming errors like buffer overflows and null pointer dereferences, which can lead to crashes, data corruption, or security vulnerabilities.";
        // Texts and token counts of recorded answers.
        for (factors, text, reported) in [(&CLAUDE, prose, 75), (&GEMINI, gemini, 57)] {
            let estimate = Estimate(factors).count_text(text);
            assert!(
                (reported..reported * 3 / 2).contains(&estimate),
                "{estimate}, {reported}"
            );
        }
    }

    #[test]
    fn no_text_has_more_tokens_than_bytes() {
        for text in [
            "",
            "a",
            " ",
            "1+1=2",
            "文",
            "🙂🙂",
            "é",
            "\n\n\n",
            "日本語 テキスト",
            "жук",
        ] {
            for factors in [&CLAUDE, &GEMINI, &OTHER] {
                let tokens = Estimate(factors).count_text(text);
                assert!(tokens <= text.len() as u64, "{text}: {tokens}");
            }
            assert!(WordTokenizer.count_text(text) <= text.len() as u64);
        }
        assert_eq!(WordTokenizer.count_text("one two\nthree"), 3);
    }
}
