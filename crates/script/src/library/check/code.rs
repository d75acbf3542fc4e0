//! Determines by static analysis which variables a piece of JavaScript may set.
//!
//! Code accesses the script's variables only through `this`. If `this` is always followed by a dot,
//! the names that it can set are among the words of the code. If the code passes `this` on or
//! computes a name, they are known only at run time.

use std::ops::Range;

/// Variables that a piece of code may set.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sets<'c> {
    /// Any of these words.
    Words(Vec<&'c str>),
    /// Any variable.
    Unknown,
}

/// Directives that set variables named by their arguments.
const SETTERS: [&str; 4] = ["$set", "$prompt", "$parameters", "$push"];

pub(super) fn sets(code: &str) -> Sets<'_> {
    let words: Vec<(usize, &str)> = words(code).collect();
    let mut reaches = false;
    for (at, word) in &words {
        let behind = code.get(at + word.len()..).unwrap_or_default().trim_start();
        if *word == "this" {
            reaches = true;
            if !behind.starts_with(['.', '?']) {
                return Sets::Unknown;
            }
        }
        // `$set(name, 1)` and `$set(object)` set names that are known only at run time. Literal
        // names are already among the words of the code.
        let written = behind.trim_start_matches('(').trim_start();
        if SETTERS.contains(word) && !written.starts_with(['{', '\'', '"']) {
            return Sets::Unknown;
        }
    }
    if reaches {
        Sets::Words(words.into_iter().map(|(_, word)| word).collect())
    } else {
        Sets::Words(Vec::new())
    }
}

/// Like [`sets`], but for an expression, whose strings may contain the English word "this".
pub(super) fn sets_in_expression(code: &str) -> Sets<'_> {
    let bare = without_texts(code);
    if words(&bare).any(|(_, word)| word == "this") {
        sets(code)
    } else {
        Sets::Words(Vec::new())
    }
}

/// Returns the names that code calls as `this.$name(…)`, without the `$`, and their positions. A
/// name that the code also tests, as in `if (this.$name)`, is omitted, because the function is
/// optional there.
pub(crate) fn called_on_this(code: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let all: Vec<(usize, &str)> = words(code)
        .filter(|(at, word)| is_on_this(code, *at, word))
        .collect();
    let is_call = move |at: usize, word: &str| {
        let behind = code.get(at + word.len()..).unwrap_or_default();
        behind.trim_start().starts_with('(')
    };
    let looked = all.iter().filter(|(at, word)| !is_call(*at, word));
    let looked: Vec<&str> = looked.map(|(_, word)| *word).collect();
    all.into_iter()
        .filter(move |(at, word)| is_call(*at, word) && !looked.contains(word))
        .map(|(at, word)| (at..at + word.len(), word.get(1..).unwrap_or_default()))
}

/// Returns whether a word is the `$name` in `this.$name`.
fn is_on_this(code: &str, at: usize, word: &str) -> bool {
    let before = code.get(..at).unwrap_or_default().trim_end();
    let before = before.strip_suffix('.').unwrap_or_default().trim_end();
    word.len() > 1 && word.starts_with('$') && before.ends_with("this")
}

fn without_texts(code: &str) -> String {
    let mut quote = None;
    let mut escaped = false;
    let outside = |c: char| {
        match quote {
            _ if std::mem::take(&mut escaped) => {}
            Some(_) if c == '\\' => escaped = true,
            Some(open) if open == c => quote = None,
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None => return c,
            Some(_) => {}
        }
        ' '
    };
    code.chars().map(outside).collect()
}

pub(super) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let begin = rest + code.get(rest..)?.find(is_word)?;
        let tail = code.get(begin..)?;
        let length = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
        rest = begin + length;
        Some((begin, tail.get(..length)?))
    })
}

#[cfg(test)]
mod tests {
    use super::{Sets, called_on_this, sets, sets_in_expression};

    #[test]
    fn code_sets_what_it_says_and_nothing_else() {
        let nothing = Sets::Words(Vec::new());
        for code in [
            "shout ({text}) { return text }",
            "() { const topic = 1; return topic }",
            "({self}) { self.topic = 1 }",
        ] {
            assert_eq!(sets(code), nothing, "{code}");
        }
        for code in [
            "() { this.topic = 1 }",
            "() { this . topic ??= 1 }",
            "() { this.$set({topic: 1}) }",
            "() { this.$set('topic', 1) }",
        ] {
            let Sets::Words(words) = sets(code) else {
                unreachable!("{code}: every name is written out");
            };
            assert!(words.contains(&"topic"), "{code}: {words:?}");
            assert!(!words.contains(&"topik"), "{code}");
        }
        for code in [
            "(name) { this[name] = 1 }",
            "(all) { Object.assign(this, all) }",
            "() { const self = this; self['to' + 'pic'] = 1 }",
            "(all) { this.$set(all) }",
            "(all) { return other.call(this, all) }",
        ] {
            assert_eq!(sets(code), Sets::Unknown, "{code}");
        }
        let called = |code| {
            let names = called_on_this(code).map(|(range, name)| {
                assert_eq!(code.get(range), Some(&*format!("${name}")));
                name
            });
            names.collect::<Vec<_>>()
        };
        assert_eq!(called("this.$nope(1) + this . $b (2)"), ["nope", "b"]);
        assert_eq!(
            called("that.$nope(1), $c(2), this.d(3), this.$(4)"),
            [""; 0]
        );
        assert_eq!(called("this.$e ? this.$e(1) : this.$f(2)"), ["f"]);
        assert_eq!(sets_in_expression("'say \\'this, now' + topic"), nothing);
        assert_eq!(sets_in_expression("'it is ' + f(this)"), Sets::Unknown);
    }
}
