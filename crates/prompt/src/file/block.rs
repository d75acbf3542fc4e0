//! Location of a YAML text value in its file.

use quillet_core::LineColumn;

use crate::template_location::TemplatePlacement;

/// Placement of the template whose YAML value starts at byte `at`. Only in a literal block (`|`) do
/// the lines of the file match those of the template.
pub(super) fn standing(text: &str, at: usize, template: &str) -> TemplatePlacement {
    let lines = content(text, at).and_then(|first| lines(text, first, template));
    match lines {
        Some(lines) => TemplatePlacement::Lines(lines.into()),
        None => TemplatePlacement::Written(at, LineColumn::of(text, at)),
    }
}

/// Start of each template line in the file. Returns `None` if the lines differ from those of the
/// template.
fn lines(text: &str, first: usize, template: &str) -> Option<Vec<(usize, LineColumn)>> {
    let indent = indent(text.get(first..)?, template)?;
    let number = LineColumn::of(text, first).line;
    let mut from = first;
    let mut lines = Vec::new();
    for (index, ours) in template.lines().enumerate() {
        let theirs = text.get(from..)?.split_inclusive('\n').next()?;
        let bare = theirs.trim_end_matches(['\n', '\r']);
        let lead = indent.min(bare.len());
        // If one line differs, the value is not a plain literal block.
        if bare.get(lead..) != Some(ours) {
            return None;
        }
        let start = LineColumn {
            line: number + index,
            column: lead + 1,
        };
        lines.push((from + lead, start));
        from += theirs.len();
    }
    Some(lines)
}

/// Indentation of the block, measured at its first nonblank line.
fn indent(block: &str, template: &str) -> Option<usize> {
    let mut pairs = template.lines().zip(block.lines());
    pairs.find_map(|(ours, theirs)| {
        let said = !ours.trim().is_empty() && theirs.ends_with(ours);
        theirs.len().checked_sub(ours.len()).filter(|_| said)
    })
}

/// Offset of the line after the `|` indicator of the key `template`, whose value starts at byte
/// `at`.
fn content(text: &str, at: usize) -> Option<usize> {
    let key = text.get(..at)?.rfind("template")?;
    let line = text.get(key..)?.find('\n')?;
    let (_, header) = text.get(key..key + line)?.split_once(':')?;
    header
        .trim_start()
        .starts_with('|')
        .then_some(key + line + 1)
}
