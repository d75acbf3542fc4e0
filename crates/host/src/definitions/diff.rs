//! Readable unified diffs between two versions.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use quillet_core::history::DefinitionContent;
use quillet_prompt::script_source;
use serde_json::{Map, Value as Tree};

/// Lines of context around a change.
const AROUND: usize = 3;

/// Maximum number of edits before two texts count as entirely different. The memory grows with its
/// square: 4 MB.
const MOST_EDITS: usize = 1_000;

/// Maximum number of search steps before the same fallback, equivalent to about a quarter of a
/// second.
const MOST_STEPS: usize = 50_000_000;

/// Returns the unified diff between two named texts in the format of `diff -u`, but without
/// timestamps. Empty if the texts are equal. If nearly all lines differ, one hunk replaces the
/// whole text.
///
/// ```
/// use quillet_host::definitions::unified;
///
/// let diff = unified("v1", "Hello\n", "v2", "Hi\n");
/// assert!(diff.starts_with("--- v1\n+++ v2\n"));
/// assert!(diff.ends_with("-Hello\n+Hi\n"));
/// assert_eq!(unified("v1", "Hello\n", "v2", "Hello\n"), "");
/// ```
#[must_use]
pub fn unified(old_name: &str, old: &str, new_name: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let before: Vec<&str> = old.split_inclusive('\n').collect();
    let after: Vec<&str> = new.split_inclusive('\n').collect();
    let mut out = format!("--- {old_name}\n+++ {new_name}\n");
    for hunk in hunks(&changes(&before, &after)) {
        write_hunk(&mut out, &hunk, &before, &after);
    }
    out
}

/// Text form of a definition. A script is shown as its file. A JSON object has one member per line,
/// and its strings are split into lines. Other texts are unchanged. The companion file is appended.
#[must_use]
pub fn readable(content: &DefinitionContent) -> String {
    let mut out = match serde_json::from_str::<Map<String, Tree>>(&content.text) {
        Err(_) => content.text.to_string(),
        Ok(object) => script_source(&content.text).map_or_else(
            || {
                let mut out = String::new();
                members(&object, 0, &mut out);
                out
            },
            |source| source.to_string(),
        ),
    };
    if let Some((name, text)) = &content.companion {
        if !out.ends_with('\n') {
            out.push('\n');
        }
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\n# {name}\n{text}");
    }
    out
}

fn members(object: &Map<String, Tree>, depth: usize, out: &mut String) {
    for (name, value) in object {
        indent(depth, out);
        out.push_str(name);
        out.push(':');
        member(value, depth, out);
    }
}

/// Writes the value after a colon or a dash, with a final line break.
fn member(value: &Tree, depth: usize, out: &mut String) {
    match value {
        Tree::Object(object) if !object.is_empty() => {
            out.push('\n');
            members(object, depth + 1, out);
        }
        Tree::Array(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                indent(depth + 1, out);
                out.push('-');
                member(item, depth + 1, out);
            }
        }
        Tree::String(text) if text.contains('\n') => {
            let text = match text.strip_suffix('\n') {
                Some(text) => {
                    out.push_str(" |\n");
                    text
                }
                None => {
                    out.push_str(" |-\n");
                    text
                }
            };
            for line in text.split('\n') {
                indent(depth + 1, out);
                out.push_str(line);
                out.push('\n');
            }
        }
        plain => {
            let _ = writeln!(out, " {plain}");
        }
    }
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str("  "));
}

/// Replaced lines. One of the two ranges may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DiffHunk {
    old: Range<usize>,
    new: Range<usize>,
}

/// Returns the changes in line order.
fn changes(before: &[&str], after: &[&str]) -> Vec<DiffHunk> {
    let pairs = before.iter().zip(after);
    let start = pairs.take_while(|(one, other)| one == other).count();
    // The common end must not overlap the common start, as for `aa` and `a`.
    let rest = before.len().min(after.len()) - start;
    let ends = before.iter().rev().zip(after.iter().rev()).take(rest);
    let end = ends.take_while(|(one, other)| one == other).count();
    let (old, new) = (start..before.len() - end, start..after.len() - end);
    let mut numbers = HashMap::new();
    // Lines are numbered, so that the search compares integers instead of texts.
    let mut number = |line: &&str| {
        let next = numbers.len();
        *numbers.entry(line.to_string()).or_insert(next)
    };
    let one: Vec<usize> = before[old.clone()].iter().map(&mut number).collect();
    let other: Vec<usize> = after[new.clone()].iter().map(&mut number).collect();
    let Some(kept) = unchanged_lines(&one, &other) else {
        return vec![DiffHunk { old, new }];
    };
    let mut changes = Vec::new();
    let (mut x, mut y) = (0, 0);
    // The extra pair after the last line closes the last change.
    for (kept_x, kept_y) in kept.into_iter().chain([(one.len(), other.len())]) {
        if kept_x > x || kept_y > y {
            changes.push(DiffHunk {
                old: start + x..start + kept_x,
                new: start + y..start + kept_y,
            });
        }
        (x, y) = (kept_x + 1, kept_y + 1);
    }
    changes
}

/// Returns the pairs of unchanged lines, found with Myers' greedy search ("An O(ND) Difference
/// Algorithm", 1986). `None` if the search takes too long.
fn unchanged_lines(one: &[usize], other: &[usize]) -> Option<Vec<(usize, usize)>> {
    let mut steps = MOST_STEPS;
    // For each number of edits: the furthest line of `one` reached with `at` deletions.
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for edits in 0..=(one.len() + other.len()).min(MOST_EDITS) {
        let mut reached = Vec::with_capacity(edits + 1);
        for at in 0..=edits {
            let mut x = trace.last().map_or(0, |before| step(before, at).0);
            let mut y = x + edits - 2 * at;
            while x < one.len() && y < other.len() && one[x] == other[y] {
                (x, y) = (x + 1, y + 1);
                steps = steps.checked_sub(1)?;
            }
            reached.push(x);
            if x >= one.len() && y >= other.len() {
                return Some(way_back(&trace, one.len(), other.len()));
            }
        }
        steps = steps.checked_sub(edits)?;
        trace.push(reached);
    }
    None
}

/// Returns the furthest line that the next edit can start from, and whether the edit is a deletion;
/// otherwise it is an insertion.
fn step(before: &[usize], at: usize) -> (usize, bool) {
    let taken_out = at.checked_sub(1).and_then(|at| before.get(at));
    match (taken_out, before.get(at)) {
        (Some(one), Some(other)) if one < other => (*other, false),
        (Some(one), _) => (one + 1, true),
        (None, other) => (other.copied().unwrap_or_default(), false),
    }
}

/// Follows the trace from the end of both texts to their start, and returns the unchanged pairs.
fn way_back(trace: &[Vec<usize>], x: usize, y: usize) -> Vec<(usize, usize)> {
    let (mut x, mut y) = (x, y);
    let mut pairs = Vec::new();
    for edits in (0..=trace.len()).rev() {
        let before = edits.checked_sub(1).and_then(|edits| trace.get(edits));
        let at = (x + edits - y) / 2;
        let (begin, is_out) = before.map_or((0, false), |before| step(before, at));
        while x > begin {
            (x, y) = (x - 1, y - 1);
            pairs.push((x, y));
        }
        if is_out {
            x -= 1;
        } else {
            y = y.saturating_sub(1);
        }
    }
    pairs.reverse();
    pairs
}

/// Groups changes whose context overlaps into hunks.
fn hunks(changes: &[DiffHunk]) -> Vec<Vec<DiffHunk>> {
    let mut hunks: Vec<Vec<DiffHunk>> = Vec::new();
    for change in changes {
        match hunks.last_mut() {
            Some(hunk)
                if hunk
                    .last()
                    .is_some_and(|it| change.old.start <= it.old.end + 2 * AROUND) =>
            {
                hunk.push(change.clone());
            }
            _ => hunks.push(vec![change.clone()]),
        }
    }
    hunks
}

fn write_hunk(out: &mut String, hunk: &[DiffHunk], before: &[&str], after: &[&str]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return;
    };
    let ahead = first.old.start.min(AROUND);
    let behind = (before.len() - last.old.end).min(AROUND);
    let old = first.old.start - ahead..last.old.end + behind;
    let new = first.new.start - ahead..last.new.end + behind;
    let _ = writeln!(out, "@@ -{} +{} @@", place(&old), place(&new));
    let mut at = old.start;
    for change in hunk {
        write_lines(out, ' ', &before[at..change.old.start]);
        write_lines(out, '-', &before[change.old.clone()]);
        write_lines(out, '+', &after[change.new.clone()]);
        at = change.old.end;
    }
    write_lines(out, ' ', &before[at..old.end]);
}

/// Formats a range for a hunk header: numbers start at 1, an empty range has the number of the line
/// before it, and the count 1 is omitted.
fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        count => format!("{},{count}", range.start + 1),
    }
}

fn write_lines(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn diff(old: &str, new: &str) -> String {
        unified("a", old, "b", new)
    }

    #[test]
    fn differences_are_written_as_patch_reads_them() {
        let cases = [
            ("same\n", "same\n", ""),
            ("a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"),
            ("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"),
            ("a\nb\nc\n", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n"),
            (
                "a\nb",
                "a\nb\n",
                "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
            ),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9\nx\n",
                "0\n2\n3\n4\n5\n6\n7\n8\n9\n",
                "@@ -1,4 +1,4 @@\n-1\n+0\n 2\n 3\n 4\n@@ -7,4 +7,3 @@\n 7\n 8\n 9\n-x\n",
            ),
        ];
        for (old, new, hunks) in cases {
            let expected = match hunks {
                "" => String::new(),
                hunks => format!("--- a\n+++ b\n{hunks}"),
            };
            assert_eq!(diff(old, new), expected, "{old:?} {new:?}");
        }
    }

    /// Text with few distinct lines, so that two texts can be aligned in many ways.
    fn some_text(seed: &mut u64, most: u64) -> String {
        let mut next = |below: u64| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*seed >> 33) % below
        };
        let mut text = String::new();
        for _ in 0..next(most) {
            let _ = writeln!(text, "{}", next(4));
        }
        if next(4) == 0 {
            text.push('x');
        }
        text
    }

    /// Applies a diff, like `patch`.
    fn patched(old: &str, diff: &str) -> String {
        let before: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        let lines: Vec<&str> = diff.split_inclusive('\n').collect();
        for (number, line) in lines.iter().enumerate().skip(2) {
            let bare = match lines.get(number + 1) {
                Some(next) if next.starts_with('\\') => line.trim_end_matches('\n'),
                _ => line,
            };
            let (sign, text) = bare.split_at(1);
            match sign {
                "@" => {
                    let place = line.split(['-', ',', ' ']).nth(2).unwrap();
                    let start: usize = place.parse().unwrap();
                    let is_empty = line.split(' ').nth(1).unwrap().ends_with(",0");
                    let start = if is_empty { start } else { start - 1 };
                    out.extend(before[at..start].iter().copied());
                    at = start;
                }
                "+" => out.push_str(text),
                " " | "-" => {
                    assert_eq!(before[at], text);
                    at += 1;
                    if sign == " " {
                        out.push_str(text);
                    }
                }
                _ => assert_eq!(sign, "\\"),
            }
        }
        out.extend(before[at..].iter().copied());
        out
    }

    #[test]
    fn applied_to_the_one_they_give_the_other() {
        let mut seed = 7;
        for most in [2, 5, 12, 40, 200] {
            for _ in 0..300 {
                let (old, new) = (some_text(&mut seed, most), some_text(&mut seed, most));
                let found = diff(&old, &new);
                if old != new {
                    assert_eq!(patched(&old, &found), new, "{old:?} {new:?}\n{found}");
                }
            }
        }
    }

    /// The diffs change no more lines than those of `diff`.
    #[test]
    fn they_are_as_short_as_those_of_diff() {
        let folder = std::env::temp_dir().join(format!("quillet-diff-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let changed = |text: &str| {
            let lines = text.lines().skip(2);
            lines.filter(|line| line.starts_with(['+', '-'])).count()
        };
        let mut seed = 11;
        for most in [4, 12, 40, 120] {
            for _ in 0..10 {
                let (old, new) = (some_text(&mut seed, most), some_text(&mut seed, most));
                let (a, b) = (folder.join("a"), folder.join("b"));
                fs::write(&a, &old).unwrap();
                fs::write(&b, &new).unwrap();
                let theirs = Command::new("diff")
                    .args(["-u", "-d"])
                    .args([&a, &b])
                    .output();
                let theirs = String::from_utf8(theirs.unwrap().stdout).unwrap();
                assert_eq!(
                    changed(&diff(&old, &new)),
                    changed(&theirs),
                    "{old:?} {new:?}"
                );
            }
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_has_nothing_in_common_is_replaced_in_one_piece() {
        let lines =
            |from: usize| -> String { (from..from + 4000).map(|it| format!("{it}\n")).collect() };
        let (old, new) = (lines(0), lines(10_000));
        let found = diff(&old, &new);
        assert!(found.starts_with("--- a\n+++ b\n@@ -1,4000 +1,4000 @@\n-0\n-1\n"));
        assert_eq!(patched(&old, &found), new);
    }

    #[test]
    fn definitions_are_told_line_by_line() {
        let file = |text: &str, file: &str| DefinitionContent {
            file: file.into(),
            ..DefinitionContent::new(text)
        };
        let skill = DefinitionContent {
            companion: Some(("prompts/a/config.json".into(), "{}".into())),
            ..file("Hi", "skprompt.txt")
        };
        let cases = [
            (
                DefinitionContent::new(
                    r#"{"messages":[{"role":"user","content":"a\n b\n"}],"n":1,"s":"1","t":"x\ny","e":{},"l":[1,[2]]}"#,
                ),
                "messages:\n  -\n    role: \"user\"\n    content: |\n      a\n       b\nn: 1\ns: \"1\"\nt: |-\n  x\n  y\ne: {}\nl:\n  - 1\n  -\n    - 2\n",
            ),
            (
                DefinitionContent::new(r#"{"format":"script","source":"- a\n"}"#),
                "- a\n",
            ),
            (
                file("---\nmodel: m\n---\nHi", "a.prompt"),
                "---\nmodel: m\n---\nHi",
            ),
            (DefinitionContent::new("[1]"), "[1]"),
            (skill, "Hi\n\n# config.json\n{}"),
        ];
        for (content, expected) in cases {
            assert_eq!(readable(&content), expected);
        }
    }
}
