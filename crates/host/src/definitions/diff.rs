//! What changed between two versions, as people read it.

use std::fmt::Write;

use quillet_core::history::Content;
use serde_json::Value as Tree;

/// Lines that stand around a change.
const AROUND: usize = 3;

/// Most lines of a side that are compared one by one: the work is their product. Of longer ones
/// that differ, what lies between their common beginning and end is shown as replaced.
const MOST: usize = 2000;

/// A definition as lines that people can compare: of a JSON object each member, and each line of a
/// text, on a line of its own; everything else as it is.
#[must_use]
pub fn readable(content: &Content) -> String {
    let mut out = String::new();
    match serde_json::from_str::<Tree>(&content.text) {
        Ok(tree @ Tree::Object(_)) => write(&tree, 0, &mut out),
        _ => out.push_str(&content.text),
    }
    if let Some((name, text)) = &content.companion {
        let _ = write!(out, "\n{name}:\n{text}");
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// JSON in lines, and a text of several lines as a block, as YAML writes it.
fn write(tree: &Tree, depth: usize, out: &mut String) {
    let gap = "  ".repeat(depth);
    match tree {
        Tree::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                let _ = write!(out, "\n{gap}{name}:");
                write_after(value, depth, out);
            }
        }
        Tree::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(out, "\n{gap}-");
                write_after(item, depth, out);
            }
        }
        Tree::String(text) if text.contains('\n') => {
            out.push_str(" |");
            for line in text.split('\n') {
                let _ = write!(out, "\n{gap}{line}");
            }
        }
        plain => {
            let _ = write!(out, " {plain}");
        }
    }
    if depth == 0 {
        out.drain(..out.len().min(1));
    }
}

fn write_after(value: &Tree, depth: usize, out: &mut String) {
    write(value, depth + 1, out);
}

/// What is different between two texts, in the unified form of `diff -u`; empty if nothing is.
#[must_use]
pub fn unified((from_name, from): (&str, &str), (to_name, to): (&str, &str)) -> String {
    let lines = |text| -> Vec<&str> { str::lines(text).collect() };
    let steps = steps(&lines(from), &lines(to));
    let mut out = String::new();
    for hunk in hunks(&steps) {
        if out.is_empty() {
            let _ = write!(out, "--- {from_name}\n+++ {to_name}\n");
        }
        write_hunk(&steps, hunk, &mut out);
    }
    out
}

/// A line of the one text, of the other, or of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The way from one text to the other with the fewest lines changed (the longest common
/// subsequence, by dynamic programming over what lies between the common ends).
fn steps<'a>(from: &[&'a str], to: &[&'a str]) -> Vec<Step<'a>> {
    let first = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let (middle, other) = (&from[first..], &to[first..]);
    let ends = middle.iter().rev().zip(other.iter().rev());
    let last = ends.take_while(|(a, b)| a == b).count();
    let (middle, end) = middle.split_at(middle.len() - last);
    let other = &other[..other.len() - last];
    let mut steps: Vec<Step<'_>> = from[..first].iter().map(|line| Step::Same(line)).collect();
    if middle.len() > MOST || other.len() > MOST {
        steps.extend(middle.iter().map(|line| Step::Gone(line)));
        steps.extend(other.iter().map(|line| Step::New(line)));
    } else {
        between(middle, other, &mut steps);
    }
    steps.extend(end.iter().map(|line| Step::Same(line)));
    steps
}

fn between<'a>(from: &[&'a str], to: &[&'a str], steps: &mut Vec<Step<'a>>) {
    let width = to.len() + 1;
    // The longest common subsequence of what follows each pair of places.
    let mut longest = vec![0_u16; (from.len() + 1) * width];
    for (i, line) in from.iter().enumerate().rev() {
        for (j, other) in to.iter().enumerate().rev() {
            longest[i * width + j] = if line == other {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < from.len() || j < to.len() {
        let is_same = i < from.len() && j < to.len() && from[i] == to[j];
        if is_same {
            steps.push(Step::Same(from[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == to.len()
            || (i < from.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1])
        {
            steps.push(Step::Gone(from[i]));
            i += 1;
        } else {
            steps.push(Step::New(to[j]));
            j += 1;
        }
    }
}

/// Where changes are, with the lines around them; those that touch are one.
fn hunks(steps: &[Step<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if matches!(step, Step::Same(_)) {
            continue;
        }
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(steps.len());
        match hunks.last_mut() {
            Some(last) if last.end >= around.start => last.end = around.end,
            _ => hunks.push(around),
        }
    }
    hunks
}

fn write_hunk(steps: &[Step<'_>], hunk: std::ops::Range<usize>, out: &mut String) {
    let count = |steps: &[Step<'_>], of_new: bool| {
        let counts = |step: &&Step<'_>| match step {
            Step::Same(_) => true,
            Step::Gone(_) => !of_new,
            Step::New(_) => of_new,
        };
        steps.iter().filter(counts).count()
    };
    let (before, inside) = (&steps[..hunk.start], &steps[hunk]);
    // A side without a line is named by the line before it.
    let side = |of_new| {
        let (start, lines) = (count(before, of_new), count(inside, of_new));
        let start = if lines == 0 { start } else { start + 1 };
        match lines {
            1 => start.to_string(),
            _ => format!("{start},{lines}"),
        }
    };
    let _ = writeln!(out, "@@ -{} +{} @@", side(false), side(true));
    for step in inside {
        let (sign, line) = match step {
            Step::Same(line) => (' ', line),
            Step::Gone(line) => ('-', line),
            Step::New(line) => ('+', line),
        };
        let _ = writeln!(out, "{sign}{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `diff -u --label a --label b` prints them.
    #[test]
    fn differences_are_those_of_diff() {
        let long = |from: usize, to: usize| -> String {
            (from..to).map(|number| format!("{number}\n")).collect()
        };
        let far = long(0, 20).replace("15\n", "fifteen\n");
        for (from, to, expected) in [
            ("a\nb\n", "a\nb\n", String::new()),
            ("", "a\n", "@@ -0,0 +1 @@\n+a\n".to_owned()),
            ("a\n", "", "@@ -1 +0,0 @@\n-a\n".to_owned()),
            (
                "a\nb\nc\n",
                "a\nx\nc\n",
                "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n".to_owned(),
            ),
            (
                &format!("x\n{}", long(0, 20)),
                &far,
                "@@ -1,4 +1,3 @@\n-x\n 0\n 1\n 2\n@@ -14,7 +13,7 @@\n 12\n 13\n 14\n-15\n+fifteen\n 16\n 17\n 18\n"
                    .to_owned(),
            ),
            (
                "a\nb\nc\nd\n",
                "b\nd\ne\n",
                "@@ -1,4 +1,3 @@\n-a\n b\n-c\n d\n+e\n".to_owned(),
            ),
        ] {
            let head = if expected.is_empty() { "" } else { "--- a\n+++ b\n" };
            assert_eq!(unified(("a", from), ("b", to)), format!("{head}{expected}"));
        }
    }

    #[test]
    fn texts_of_several_lines_are_shown_in_lines() {
        let content = |text: &str| readable(&Content::new(text));
        let text = r#"{"userPrompt":"one\ntwo","n":1,"list":[{"a":"b"},[]],"none":{}}"#;
        let shown = content(text);
        for line in ["userPrompt: |", "  one", "  two", "n: 1", "none: {}"] {
            assert!(shown.lines().any(|found| found == line), "{line}: {shown}");
        }
        assert_eq!(content("---\nplain"), "---\nplain\n");
        assert_eq!(content("[1]"), "[1]\n");
    }

    #[test]
    fn what_is_too_long_is_replaced_as_a_whole() {
        let from: String = (0..5000).map(|number| format!("{number}\n")).collect();
        let to: String = (5000..10_000).map(|number| format!("{number}\n")).collect();
        let shown = unified(("a", &from), ("b", &to));
        assert!(shown.contains("@@ -1,5000 +1,5000 @@"), "{}", &shown[..60]);
    }
}
