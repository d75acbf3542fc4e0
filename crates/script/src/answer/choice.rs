//! `[[X:|a|b|c]]`: an answer that must be one or more of the author's options.

use quillet_core::{Value, nearest};
use serde_json::json;

/// The options of a choice and the number that must be picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceConstraint {
    /// The texts.
    pub options: Vec<String>,
    /// Maximum number of picks, at least 1.
    pub max_pick: usize,
    /// Minimum number of picks.
    pub min_pick: usize,
    /// Separator between picks.
    pub separator: String,
    /// Text before each pick.
    pub prefix: String,
    /// Text after each pick.
    pub suffix: String,
    /// Whether the choice is made at random, without a model call.
    pub random: bool,
}

impl ChoiceConstraint {
    /// A choice of exactly one option.
    #[must_use]
    pub fn one_of(options: Vec<String>) -> Self {
        ChoiceConstraint {
            options,
            max_pick: 1,
            min_pick: 1,
            separator: ", ".to_owned(),
            prefix: String::new(),
            suffix: String::new(),
            random: false,
        }
    }

    /// Reads an evaluated argument: `{items, maxPick?, minPick?, separator?, prefix?, suffix?,
    /// type?}`. Items that are not strings are converted to JSON.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let Value::List(items) = value.get_path(&["items"])? else {
            return None;
        };
        let option = |item: &Value| match item {
            Value::Str(text) => text.to_string(),
            other => quillet_core::json::to_string(other),
        };
        let mut choice = ChoiceConstraint::one_of(items.iter().map(option).collect());
        let count = |name| match value.get_path(&[name]) {
            Some(Value::Int(count)) => usize::try_from(*count).ok(),
            _ => None,
        };
        let text = |name| Some(value.get_path(&[name])?.as_str()?.to_owned());
        choice.min_pick = count("minPick").unwrap_or(1);
        // The upper limit is never below the lower one, so that `minPick: 3` alone can be
        // satisfied.
        choice.max_pick = count("maxPick").unwrap_or(1).max(choice.min_pick).max(1);
        choice.separator = text("separator").unwrap_or(choice.separator);
        choice.prefix = text("prefix").unwrap_or_default();
        choice.suffix = text("suffix").unwrap_or_default();
        choice.random = text("type").as_deref() == Some("random");
        Some(choice)
    }

    /// Picks random options without repetition. Returns the indices of the options.
    #[must_use]
    pub fn draw(&self, random: &mut Random) -> Vec<usize> {
        // `clamp` panics if min > max, so the limit is 1 even without options.
        let most = self.max_pick.clamp(1, self.options.len().max(1));
        let fewest = self.min_pick.clamp(1, most);
        let count = fewest + random.below(most - fewest + 1);
        let mut left: Vec<usize> = (0..self.options.len()).collect();
        let mut picked = Vec::new();
        while picked.len() < count && !left.is_empty() {
            // Each pick is removed, so that no option is picked twice. The order of the remaining
            // options does not matter, because the next pick is random.
            picked.push(left.swap_remove(random.below(left.len())));
        }
        picked
    }

    /// Formats the picked options, in their original spelling.
    #[must_use]
    pub fn text(&self, picked: &[usize]) -> String {
        let options = picked.iter().filter_map(|index| self.options.get(*index));
        let dressed = options.map(|option| format!("{}{option}{}", self.prefix, self.suffix));
        dressed.collect::<Vec<_>>().join(&self.separator)
    }

    /// Returns the indices of the options in an answer. Ignores white space, quotes, final
    /// punctuation, case, and the JSON that structured output of a provider adds.
    ///
    /// # Errors
    /// Returns a message for the model that names an invalid option or the required number of
    /// picks.
    pub fn check(&self, answer: &str) -> Result<Vec<usize>, String> {
        let picked = match self.find(answer) {
            // The whole answer is tried first, because an option may contain the separator.
            Some(index) => vec![index],
            None => self.check_pieces(&self.pieces(answer))?,
        };
        match picked.len() {
            count if count > self.max_pick.max(1) => Err(format!(
                "too many options: {count} (at most {})",
                self.max_pick.max(1)
            )),
            count if count < self.min_pick => Err(format!(
                "too few options: {count} (at least {})",
                self.min_pick
            )),
            _ => Ok(picked),
        }
    }

    fn check_pieces(&self, pieces: &[String]) -> Result<Vec<usize>, String> {
        let mut picked = Vec::new();
        for piece in pieces {
            let index = self.find(piece).ok_or_else(|| self.unknown(piece))?;
            // Models may repeat an option, which counts only once.
            if !picked.contains(&index) {
                picked.push(index);
            }
        }
        if picked.is_empty() && self.min_pick > 0 {
            Err("the answer is empty".to_owned())
        } else {
            Ok(picked)
        }
    }

    fn unknown(&self, piece: &str) -> String {
        // An answer without separators can be very long, and the message needs only its start.
        let shown: String = piece.chars().take(80).collect();
        let options = self.options.iter().map(String::as_str);
        match nearest(&shown, options) {
            Some(near) => format!("{shown:?} is not one of the options (did you mean {near:?}?)"),
            None => format!("{shown:?} is not one of the options: {}", self.some()),
        }
    }

    /// Lists the options, limited to the length of a message.
    fn some(&self) -> String {
        let shown = self.options.iter().take(12).map(String::as_str);
        let shown = shown.collect::<Vec<_>>().join(", ");
        if self.options.len() > 12 {
            shown + ", …"
        } else {
            shown
        }
    }

    fn find(&self, piece: &str) -> Option<usize> {
        let exact = |option: &String| option == piece;
        let bare_piece = self.bare(piece);
        let same = |option: &String| self.bare(option) == bare_piece;
        let options = &self.options;
        options
            .iter()
            .position(exact)
            // Exact matches come first, because options may differ only in case or punctuation.
            .or_else(|| options.iter().position(same))
    }

    /// Removes the parts of a pick that are ignored in comparisons.
    fn bare(&self, piece: &str) -> String {
        let piece = strip(piece.trim());
        let piece = piece.strip_prefix(self.prefix.trim()).unwrap_or(piece);
        let piece = piece.strip_suffix(self.suffix.trim()).unwrap_or(piece);
        strip(piece).to_lowercase()
    }

    /// Splits an answer into picks.
    fn pieces(&self, answer: &str) -> Vec<String> {
        // Structured output of a provider is JSON, where the separator has no meaning.
        if let Some(pieces) = wrapped(answer) {
            return pieces;
        }
        let separator = self.separator.trim();
        let split: Vec<&str> = match self.max_pick > 1 {
            // A single pick is never split, because an option may contain a comma.
            false => vec![answer],
            true if separator.is_empty() && self.separator.is_empty() => {
                answer.split([',', '，', '、', '\n']).collect()
            }
            true if separator.is_empty() => answer.split(self.separator.as_str()).collect(),
            // Models also write other commas, or one option per line, despite the instructions.
            true if separator == "," => answer.split([',', '，', '、', '\n']).collect(),
            true => answer.split(separator).collect(),
        };
        let pieces = split.into_iter().map(str::trim);
        let pieces = pieces.filter(|piece| !piece.is_empty());
        pieces.map(str::to_owned).collect()
    }

    /// Returns the schema for structured output. It is an object, because some providers accept
    /// only objects at the root.
    #[must_use]
    pub fn schema(&self) -> serde_json::Value {
        let one = json!({"type": "string", "enum": self.options});
        let answer = if self.max_pick > 1 {
            json!({
                "type": "array", "items": one,
                "minItems": self.min_pick, "maxItems": self.max_pick,
            })
        } else {
            one
        };
        json!({
            "type": "object", "properties": {"answer": answer},
            "required": ["answer"], "additionalProperties": false,
        })
    }

    /// Returns the instruction for models of providers without structured output.
    #[must_use]
    pub fn instruction(&self) -> String {
        let options: Vec<String> = self.options.iter().map(|o| format!("- {o}")).collect();
        let options = options.join("\n");
        if self.max_pick <= 1 {
            return format!(
                "Answer with exactly one of these options, copied letter for letter, and \
                 nothing else:\n{options}"
            );
        }
        let count = match (self.min_pick, self.max_pick) {
            (fewest, most) if fewest == most => format!("exactly {most}"),
            (fewest, most) => format!("{fewest} to {most}"),
        };
        let separator = match self.separator.trim() {
            "" => ", ",
            _ => &self.separator,
        };
        format!(
            "Answer with {count} of these options, copied letter for letter, with {separator:?} \
             between them, and nothing else:\n{options}"
        )
    }
}

/// Extracts the options from `{"answer": …}`, `["a", "b"]` or `"a"`.
fn wrapped(answer: &str) -> Option<Vec<String>> {
    let tree: serde_json::Value = serde_json::from_str(answer.trim()).ok()?;
    let inner = match &tree {
        // The field name is ignored, because a model that does not see the schema may use another
        // one.
        serde_json::Value::Object(fields) => fields.values().next()?,
        other => other,
    };
    match inner {
        serde_json::Value::Array(items) => Some(items.iter().map(plain).collect()),
        serde_json::Value::Object(_) => None,
        scalar => Some(vec![plain(scalar)]),
    }
}

fn plain(scalar: &serde_json::Value) -> String {
    match scalar {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Removes quotes, emphasis marks and punctuation around a text. A text that consists only of these
/// is returned unchanged.
fn strip(text: &str) -> &str {
    const AROUND: [char; 18] = [
        ' ', '\n', '\t', '\r', '"', '\'', '`', '*', '_', '“', '”', '‘', '’', '「', '」', '。', '.',
        '-',
    ];
    let inner = text
        .trim_matches(AROUND)
        .trim_end_matches(['!', '！', ',', '，', ';', '；'])
        .trim_matches(AROUND);
    if inner.is_empty() { text } else { inner }
}

/// Deterministic pseudorandom numbers (SplitMix64). Not suitable for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns the next pseudorandom number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0. The bias is negligible for small ranges.
    pub fn below(&mut self, end: usize) -> usize {
        // Multiplying and shifting uses the high bits and, unlike `%`, cannot divide by zero.
        let wide = u128::from(self.next()) * end as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}
