//! Finds the names that a CommonJS module exports without running it, so that an ES module can
//! import them by name. It recognizes the forms that people and compilers write: `exports.a = …`,
//! `module.exports.a = …`, `Object.defineProperty(exports, "a", …)` and `module.exports = { a, b: …
//! }`. Any other name is still available on the default import.

/// Maximum number of exported names.
const MOST: usize = 1_000;

/// Returns the names in the order of the text.
pub(super) fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices("exports") {
        let (before, rest) = text.split_at(at);
        let rest = rest.get("exports".len()..).unwrap_or_default();
        if before.ends_with(is_part) {
            continue;
        }
        if before.trim_end().ends_with("defineProperty(") {
            names.extend(quoted(rest));
        } else if let Some(name) = assigned(rest) {
            names.push(name);
        } else if before.ends_with("module.") {
            names.extend(listed(rest));
        }
        if names.len() >= MOST {
            break;
        }
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| is_name(name) && name != "default" && seen.insert(name.clone()));
    names
}

fn is_part(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == '$'
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|c: char| c.is_numeric())
}

/// Parses `.name =`, but not `.name ==`.
fn assigned(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix('.')?;
    let end = rest.find(|c| !is_part(c))?;
    let (name, rest) = rest.split_at(end);
    let value = rest.trim_start().strip_prefix('=')?;
    (!value.starts_with('=')).then(|| name.to_owned())
}

/// Parses `, "name"`.
fn quoted(rest: &str) -> Option<String> {
    let rest = rest.trim_start().strip_prefix(',')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let rest = rest.strip_prefix(quote)?;
    rest.find(quote)
        .and_then(|end| rest.get(..end))
        .map(str::to_owned)
}

/// Returns the keys of `= { a, b: …, 'c': …, d() {…} }`.
fn listed(rest: &str) -> Vec<String> {
    let body = rest.trim_start().strip_prefix('=').map(str::trim_start);
    let Some(mut rest) = body.and_then(|body| body.strip_prefix('{')) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    loop {
        rest = space(rest);
        let is_end = |c: char| !is_part(c);
        let key = rest.trim_start_matches(['"', '\'']);
        let end = key.find(is_end).unwrap_or(key.len());
        let (name, after) = key.split_at(end);
        if name.is_empty() || names.len() >= MOST {
            return names;
        }
        if !matches!(name, "get" | "set" | "async")
            || space(after).starts_with([',', ':', '(', '}'])
        {
            names.push(name.to_owned());
        }
        match next(after) {
            Some(left) => rest = left,
            None => return names,
        }
    }
}

/// Returns the text after the next comma at this nesting level.
fn next(text: &str) -> Option<&str> {
    let mut depth = 0_u32;
    let mut quote = None;
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if quote.is_some() => quote = quote.filter(|quote| *quote != char),
            // A quote at offset 0 may be the closing quote of the key.
            '"' | '\'' | '`' if at > 0 => quote = Some(char),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return None,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => return text.get(at + 1..),
            _ => {}
        }
    }
    None
}

fn space(text: &str) -> &str {
    let mut text = text.trim_start();
    loop {
        let after = if let Some(rest) = text.strip_prefix("//") {
            rest.find('\n').and_then(|end| rest.get(end..))
        } else if let Some(rest) = text.strip_prefix("/*") {
            rest.find("*/").and_then(|end| rest.get(end + 2..))
        } else {
            return text;
        };
        text = after.unwrap_or_default().trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_in_the_forms_that_are_written() {
        let cases = [
            ("exports.a = 1; module.exports.b = 2; exports.a = 3", "a b"),
            (
                "exports.x == 1; myexports.y = 1; exports.z=exports.q=1",
                "z q",
            ),
            (
                "Object.defineProperty(exports, \"__esModule\", { value: true });\nObject.defineProperty(exports, 'a', {})",
                "__esModule a",
            ),
            (
                "module.exports = { a, b: {x: 1, y}, 'c': \",d\", e() { return {f, g} }, async h() {}, get i() {}, /* j, */ k }",
                "a b c e k",
            ),
            (
                "module.exports = function () {}; module.exports.default = 1; module.exports.go = 2",
                "go",
            ),
            ("module.exports = {...other, a}", ""),
            ("module.exports = {\n  // one\n  one,\n  two,\n}", "one two"),
        ];
        for (text, expected) in cases {
            assert_eq!(names(text).join(" "), expected, "{text}");
        }
    }
}
