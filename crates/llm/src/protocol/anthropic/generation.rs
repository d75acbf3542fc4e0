//! Features of each model generation. The rest of this folder does not depend on model names.

/// Returns the generation in a model name: (4, 6) for `claude-opus-4-6` and `claude-4.6-opus`.
/// `None` for other models with this API.
pub(super) fn generation(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.split_once("claude-")?;
    let words = name.split(['-', '.', '@', ':']);
    // A date is not a version.
    let mut numbers = words
        .filter_map(|word| word.parse().ok())
        .filter(|&number| number < 100);
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

/// Whether the model accepts instructions between turns (documented without a beta for Opus 4.8 and
/// later).
pub(super) fn takes_later_instructions(model: &str) -> bool {
    generation(model).is_some_and(|generation| generation >= (4, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_read_from_names() {
        let cases = [
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-opus-4-6", Some((4, 6))),
            ("anthropic/claude-haiku-4.5", Some((4, 5))),
            ("us.anthropic.claude-opus-4-6-v1:0", Some((4, 6))),
            ("claude-opus-5", Some((5, 0))),
            ("claude-instant", None),
            ("kimi-k2", None),
        ];
        for (name, expected) in cases {
            assert_eq!(generation(name), expected, "{name}");
        }
    }
}
