//! What a model's name is made of: a provider, the model, its version. Nothing here allocates, and
//! upper case does not matter.

use std::cmp::Ordering;

/// A name without what stands before the model: a provider and a slash (`anthropic/claude-…`,
/// `models/gemini-…`), the prefixes of clouds before `claude-`, `ft:`.
pub(super) fn bare(model: &str) -> &str {
    const CLAUDE: &[u8] = b"claude-";
    let mut windows = model.as_bytes().windows(CLAUDE.len());
    if let Some(at) = windows.position(|bytes| bytes.eq_ignore_ascii_case(CLAUDE)) {
        // It is ASCII, and so begins where a character does.
        return &model[at..];
    }
    let name = model.rsplit('/').next().unwrap_or(model);
    match name.split_at_checked(3) {
        Some((before, tuned)) if before.eq_ignore_ascii_case("ft:") => tuned,
        _ => name,
    }
}

/// How a name in lower case stands to one that may be in any.
pub(super) fn compare(lower: &str, any: &str) -> Ordering {
    let both = lower.bytes().zip(any.bytes());
    for (lower, any) in both {
        let any = any.to_ascii_lowercase();
        if lower != any {
            return lower.cmp(&any);
        }
    }
    lower.len().cmp(&any.len())
}

/// The beginnings of a name at which an entry may end, the longest first, none longer than `most`.
/// `gpt-4` is one of `gpt-4-0613`, but not of `gpt-4.1` or `gpt-4o`: a plain comparison of
/// beginnings would give both its 8,192 tokens.
pub(super) fn beginnings(model: &str, most: usize) -> impl Iterator<Item = &str> {
    let bytes = model.as_bytes();
    let is_end = |at: &usize| {
        let (before, after) = (bytes[*at - 1], bytes[*at]);
        matches!(before, b'-' | b'.') || matches!(after, b'-' | b'@' | b':')
    };
    let ends = 1..bytes.len().min(most + 1);
    // All of these bytes are ASCII, so that the cut is between characters.
    ends.rev().filter(is_end).map(|at| &model[..at])
}

/// Whether the rest of a name only says which version it is: a date, `latest`,
/// `preview`, `001`. `scripts/facts/table.py` has the same rule.
pub(super) fn is_version(rest: &str) -> bool {
    let is_word = |part: &str| {
        let words = ["latest", "preview", "exp"];
        words.iter().any(|word| part.eq_ignore_ascii_case(word))
    };
    let is_number = |part: &str, least: usize| {
        part.len() >= least && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let Some(rest) = rest.strip_prefix(['-', '@']) else {
        return false;
    };
    let mut parts = rest.split(['-', '@']);
    parts
        .next()
        .is_some_and(|first| is_word(first) || is_number(first, 3))
        && parts.all(|part| is_word(part) || is_number(part, 2))
}

/// Whether an id is that of a family, and no model's: `claude-`, `gpt-5.`.
pub(super) fn is_family(id: &str) -> bool {
    id.ends_with(['-', '.'])
}

/// Whether an id is what tuned models are made of, whose own names follow it.
pub(super) fn is_tuned(id: &str) -> bool {
    id.starts_with("ft:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_model_is_cut_off() {
        for (model, name) in [
            ("anthropic/claude-opus-5", "claude-opus-5"),
            ("us.anthropic.Claude-opus-5-v1:0", "Claude-opus-5-v1:0"),
            ("models/gemini-3.8-flash", "gemini-3.8-flash"),
            ("openai://gpt-5.4", "gpt-5.4"),
            ("FT:gpt-4o:me::x", "gpt-4o:me::x"),
            ("f:é", "f:é"),
            ("", ""),
        ] {
            assert_eq!(bare(model), name, "{model}");
        }
    }

    #[test]
    fn an_entry_ends_at_a_boundary() {
        for (model, all) in [
            ("gpt-4o-mini", vec!["gpt-4o-", "gpt-4o", "gpt-", "gpt"]),
            ("gpt-4.1", vec!["gpt-4.", "gpt-", "gpt"]),
            ("qwen3:8b", vec!["qwen3"]),
            ("a@é-", vec!["a@é", "a"]),
            ("-", vec![]),
            ("", vec![]),
        ] {
            let found: Vec<&str> = beginnings(model, 99).collect();
            assert_eq!(found, all, "{model}");
        }
        assert_eq!(beginnings("gpt-4o-mini", 4).last(), Some("gpt"));
    }

    #[test]
    fn versions_are_dates_numbers_and_a_few_words() {
        for (rest, expected) in [
            ("-2024-08-06", true),
            ("@20250514", true),
            ("-Latest", true),
            ("-preview-05-20", true),
            ("-001", true),
            ("-2024-08-06-v1:0", false),
            ("-mini", false),
            ("-9", false),
            (":8b", false),
            ("8b-latest", false),
            ("", false),
        ] {
            assert_eq!(is_version(rest), expected, "{rest}");
        }
    }
}
