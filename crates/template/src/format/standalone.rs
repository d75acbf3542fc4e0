//! Lines that hold nothing but a tag: Handlebars and Mustache take the whole
//! line out, so that a block can stand on lines of its own.

use super::javascript::is_space;

/// Whether there is only white space between the start of a line and the end of
/// `before`. At the start of a source (`first`) there needs to be no line break.
pub(super) fn blank_before(before: &str, first: bool) -> bool {
    let line = before.trim_end_matches(|c| c != '\n' && is_space(c));
    line.ends_with('\n') || (first && line.is_empty())
}

/// Whether there is only white space between the start of `after` and the end of
/// its line. At the end of a source (`last`) there needs to be no line break.
pub(super) fn blank_after(after: &str, last: bool) -> bool {
    let line = after.trim_start_matches(|c| c != '\n' && is_space(c));
    line.starts_with('\n') || (last && line.is_empty())
}

/// The text before a standalone tag, without what indents the tag.
pub(super) fn without_indent(before: &str) -> &str {
    before.trim_end_matches([' ', '\t'])
}

/// The text after a standalone tag, without the rest of its line.
pub(super) fn without_line_end(after: &str) -> &str {
    let rest = after.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('\r').unwrap_or(rest);
    rest.strip_prefix('\n').unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_its_own() {
        let before = [
            ("", true, true),
            ("", false, false),
            ("  ", true, true),
            ("  ", false, false),
            ("a\n \t", false, true),
            ("a\r\n", false, true),
            ("\n\n", false, true),
            ("a\n b", false, false),
        ];
        for (text, first, expected) in before {
            assert_eq!(blank_before(text, first), expected, "{text:?} {first}");
        }
        let after = [
            ("", true, true),
            ("", false, false),
            (" \t", true, true),
            (" \r\nb", false, true),
            ("\n", false, true),
            (" b\n", false, false),
        ];
        for (text, last, expected) in after {
            assert_eq!(blank_after(text, last), expected, "{text:?} {last}");
        }
        assert_eq!(without_indent("a\n \t"), "a\n");
        assert_eq!(without_line_end(" \t\r\n b"), " b");
        assert_eq!(without_line_end("\n\n"), "\n");
    }
}
