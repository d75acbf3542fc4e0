//! Parts of model names: provider, model and version. The functions do not allocate, and they
//! ignore case.

use std::cmp::Ordering;

/// Returns the name without a provider prefix: a provider and a slash (`anthropic/claude-…`,
/// `models/gemini-…`), a cloud prefix before `claude-`, or `ft:`.
pub(super) fn bare(model: &str) -> &str {
    const CLAUDE: &[u8] = b"claude-";
    let mut windows = model.as_bytes().windows(CLAUDE.len());
    if let Some(at) = windows.position(|bytes| bytes.eq_ignore_ascii_case(CLAUDE)) {
        // All matched bytes are ASCII, so the index is a character boundary.
        return &model[at..];
    }
    let name = model.rsplit('/').next().unwrap_or(model);
    match name.split_at_checked(3) {
        Some((before, tuned)) if before.eq_ignore_ascii_case("ft:") => tuned,
        _ => name,
    }
}

/// Compares a lowercase name with one in any case.
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

/// Returns the prefixes of a name that may be an entry, the longest first, of at most `most` bytes.
/// `gpt-4` is one of `gpt-4-0613`, but not of `gpt-4.1` or `gpt-4o`: a plain prefix comparison
/// would give both models its 8,192 tokens.
pub(super) fn beginnings(model: &str, most: usize) -> impl Iterator<Item = &str> {
    let bytes = model.as_bytes();
    let is_end = |at: &usize| {
        let (before, after) = (bytes[*at - 1], bytes[*at]);
        matches!(before, b'-' | b'.') || matches!(after, b'-' | b'@' | b':')
    };
    let ends = 1..bytes.len().min(most + 1);
    // All of these bytes are ASCII, so the index is a character boundary.
    ends.rev().filter(is_end).map(|at| &model[..at])
}

/// Whether the remainder of a name is only a version: a date, `latest`, `preview`, `001`.
/// `scripts/facts/table.py` uses the same rule.
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

/// Whether an id is that of a family instead of a model: `claude-`, `gpt-5.`.
pub(super) fn is_family(id: &str) -> bool {
    id.ends_with(['-', '.'])
}

/// Whether an id is the base of fine-tuned models, whose names start with it.
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
