//! Standalone tags. Handlebars and Mustache remove a line that contains only a tag, so block tags
//! can be on separate lines.

use super::javascript::is_space;

/// Whether the last line of `before` contains only white space. With `first`, `before` starts the
/// source, and no line break is required.
pub(super) fn blank_before(before: &str, first: bool) -> bool {
    let line = before.trim_end_matches(|c| c != '\n' && is_space(c));
    line.ends_with('\n') || (first && line.is_empty())
}

/// Whether the first line of `after` contains only white space. With `last`, `after` ends the
/// source, and no line break is required.
pub(super) fn blank_after(after: &str, last: bool) -> bool {
    let line = after.trim_start_matches(|c| c != '\n' && is_space(c));
    line.starts_with('\n') || (last && line.is_empty())
}

/// Returns the text before a standalone tag without the tag's indentation.
pub(super) fn without_indent(before: &str) -> &str {
    before.trim_end_matches([' ', '\t'])
}

/// Returns the text after a standalone tag without the rest of the tag's line.
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
