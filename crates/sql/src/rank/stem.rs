//! Light stemming: removes plurals and the most common verb endings, checked against known words.

/// Returns the base form of a word. `is_known` looks up the dictionary, so that `process` and
/// `news` stay unchanged and `classes` becomes `class`.
pub(super) fn stem(word: &str, is_known: impl Fn(&str) -> bool) -> String {
    if word.len() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    let singular = singular(word, &is_known);
    let singular = singular.as_deref().unwrap_or(word);
    if is_known(singular) {
        return singular.to_owned();
    }
    verb(singular, &is_known).unwrap_or_else(|| singular.to_owned())
}

fn singular(word: &str, is_known: &impl Fn(&str) -> bool) -> Option<String> {
    let base = word.strip_suffix('s')?;
    if base.ends_with(['s', 'u']) || (base.ends_with('i') && !is_known(base)) {
        return None;
    }
    if let Some(base) = word.strip_suffix("ies")
        && base.len() > 2
    {
        return Some(format!("{base}y"));
    }
    if is_known(base) {
        return Some(base.to_owned());
    }
    let shorter = word.strip_suffix("es").filter(|b| is_known(b));
    if shorter.is_some() {
        return shorter.map(str::to_owned);
    }
    let is_name = is_known(word);
    (!is_name).then(|| base.to_owned())
}

fn verb(word: &str, is_known: &impl Fn(&str) -> bool) -> Option<String> {
    let base = word
        .strip_suffix("ing")
        .or_else(|| word.strip_suffix("ed"))?;
    if base.len() < 3 {
        return None;
    }
    let with_e = format!("{base}e");
    let mut letters = base.chars().rev();
    let is_doubled = letters.next() == letters.next();
    let single = &base[..base.len() - 1];
    let y = base.strip_suffix('i').map(|b| format!("{b}y"));
    if is_doubled && is_known(single) && !is_known(base) {
        return Some(single.to_owned());
    }
    let candidates = [Some(base.to_owned()), Some(with_e), y];
    candidates.into_iter().flatten().find(|c| is_known(c))
}

/// Derivational endings, longer ones first.
const ENDINGS: &[&str] = &[
    "ization", "isation", "ational", "fulness", "iveness", "ements", "ations", "ation", "ition",
    "ement", "ances", "ences", "ities", "ality", "ively", "ibly", "ably", "ance", "ence", "able",
    "ible", "ment", "ness", "ship", "ions", "tion", "sion", "ical", "ally", "ized", "ised", "ion",
    "ive", "ity", "ism", "ist", "ing", "ers", "ors", "ian", "ial", "ant", "ent", "ary", "ory",
    "ous", "ed", "er", "or", "al", "ic", "ly", "es", "ee", "y", "e", "s",
];
/// Minimum length of a root.
const SHORTEST_ROOT: usize = 4;

/// Returns the common root of related words: `distract` for `distraction` and `distracted`. It is
/// approximate, so use it only for words without another match.
pub(super) fn root(word: &str) -> Option<&str> {
    let mut root = word;
    for _ in 0..2 {
        let cut = ENDINGS.iter().find_map(|ending| root.strip_suffix(ending));
        match cut.filter(|cut| cut.len() >= SHORTEST_ROOT) {
            Some(cut) => root = cut,
            None => break,
        }
    }
    (word.is_ascii() && root.len() >= SHORTEST_ROOT).then_some(root)
}
