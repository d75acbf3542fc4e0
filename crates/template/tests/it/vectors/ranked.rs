//! Selects the vectors that only call functions useful in prompts. Sprig has twice as many
//! functions.

/// Sprig functions that are useful in prompts.
const RANKED: &str = "default empty coalesce ternary fail trim trimAll trimPrefix trimSuffix upper \
    lower title trunc abbrev replace contains hasPrefix hasSuffix quote squote indent nindent wrap \
    repeat substr cat plural join splitList split toJson toPrettyJson toRawJson fromJson list dict \
    get hasKey keys values dig pick omit merge set first last rest initial reverse uniq without has \
    append concat compact slice until seq sortAlpha chunk add sub mul div mod max min round floor \
    ceil int int64 float64 toString atoi regexMatch regexFind regexFindAll regexReplaceAll \
    regexSplit now date dateInZone ago duration b64enc b64dec sha256sum typeOf kindOf kindIs \
    deepEqual semverCompare urlParse urlquery uuidv4 snakecase camelcase kebabcase";

/// Keywords and builtins of Go's templates.
const BUILT_IN: &str = "if else end range with true false nil and or not eq ne lt le gt ge len \
    index print printf println html js";

/// Whether a template uses only these functions.
pub(super) fn is_ranked(template: &str) -> bool {
    let known = |word: &str| {
        RANKED
            .split(' ')
            .chain(BUILT_IN.split(' '))
            .any(|name| name == word)
    };
    words(template).iter().all(|word| known(word))
}

/// Returns the words in actions, except fields, variables, texts and numbers.
fn words(template: &str) -> Vec<String> {
    let mut words = Vec::new();
    for action in template.split("{{").skip(1) {
        let action = action.split("}}").next().unwrap_or_default();
        let code: String = action
            .split(['"', '`'])
            .step_by(2)
            .collect::<Vec<_>>()
            .join(" ");
        let part = |c: char| !(c.is_alphanumeric() || "_.$".contains(c));
        let names = code
            .split(part)
            .filter(|word| word.starts_with(char::is_alphabetic));
        words.extend(names.map(str::to_owned));
    }
    words
}
