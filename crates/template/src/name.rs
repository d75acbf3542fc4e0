//! Names of late-bound functions that are spelled differently in templates.

/// Separators between a plugin and its function. Semantic Kernel's templates use `.`, its
/// Handlebars helpers use `-`, and its Jinja2 globals and Quillet's tools use `_`.
const SEPARATORS: [char; 3] = ['.', '-', '_'];

/// Resolves a function name of Semantic Kernel to an existing function. An exact match takes
/// precedence. The second choice is a function whose name differs only in case or in the separator
/// between plugin and function. For a name without a plugin, the last choice is the first
/// `plugin.function` whose function has that name.
///
/// # Examples
///
/// ```
/// use quillet_template::plugin_function;
///
/// let functions = ["time.now", "weather"];
/// assert_eq!(plugin_function("time-now", &functions), Some("time.now"));
/// assert_eq!(plugin_function("Now", &functions), Some("time.now"));
/// assert_eq!(plugin_function("then", &functions), None);
/// ```
#[must_use]
pub fn plugin_function<'n>(name: &str, functions: &[&'n str]) -> Option<&'n str> {
    let find = |fits: &dyn Fn(&str) -> bool| functions.iter().copied().find(|known| fits(known));
    let of_a_plugin = |known: &str| {
        let function = known.split_once('.').map(|(_, function)| function);
        function.is_some_and(|function| function.eq_ignore_ascii_case(name))
    };
    find(&|known| known == name)
        .or_else(|| find(&|known| known.eq_ignore_ascii_case(name)))
        .or_else(|| find(&|known| alike(known, name)))
        .or_else(|| find(&of_a_plugin))
}

/// Whether two names are equal, ignoring separators and case.
fn alike(one: &str, other: &str) -> bool {
    let same = |(a, b): (char, char)| {
        a.eq_ignore_ascii_case(&b) || (SEPARATORS.contains(&a) && SEPARATORS.contains(&b))
    };
    one.len() == other.len() && one.chars().zip(other.chars()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_plugins() {
        let functions = ["time.now", "Time.Today", "git_log_short", "now", "x-y"];
        let cases = [
            ("now", Some("now")),
            ("NOW", Some("now")),
            ("time.NOW", Some("time.now")),
            ("time-today", Some("Time.Today")),
            ("time_now", Some("time.now")),
            ("today", Some("Time.Today")),
            ("git.log_short", Some("git_log_short")),
            ("git-log-short", Some("git_log_short")),
            ("X.Y", Some("x-y")),
            ("log_short", None),
            ("", None),
            ("time", None),
            ("äime.now", None),
        ];
        for (name, expected) in cases {
            assert_eq!(plugin_function(name, &functions), expected, "{name}");
        }
    }
}
