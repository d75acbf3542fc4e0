//! The canonical layout.

use std::sync::Arc;

use proptest::prelude::*;
use quillet_script::format::format;
use quillet_script::syntax::ScriptSource;

use crate::reader::{read_text, show};
use crate::reader_properties::texts;

fn lay_out(text: &str) -> Option<String> {
    let source = ScriptSource {
        name: "s".to_owned(),
        path: None,
        text: text.into(),
    };
    format(&Arc::new(source)).ok()
}

#[test]
fn blanks_are_what_changes() {
    let table = [
        (
            "user:   hi  \r\n\r\n\r\n\r\nuser: ho",
            "user: hi\n\nuser: ho\n",
        ),
        ("\n\n# c  \n\n\n# d\nuser: x\n\n\n", "# c\n\n# d\nuser: x\n"),
        ("-   a\n-    user:   b\n", "- a\n- user: b\n"),
        ("- - a\n  -   b", "- - a\n  - b\n"),
        ("***  # c\na\n------!\n- '---'\n", "--- # c\na\n---!\n---\n"),
        (
            "---   \na:   1  # c\n\n\nb:\n    c: 2\n---\n\n\nx",
            "---\na: 1  # c\n\nb:\n  c: 2\n---\n\nx\n",
        ),
        ("# c\n---\n---\nx", "# c\n---\n---\nx\n"),
        ("user：你好\n- user ： 好", "user: 你好\n- user: 好\n"),
        (
            "->a->  b(x -> y)   # c\n  # d",
            "-> a -> b(x -> y) # c\n  # d\n",
        ),
        (
            "$if:  x\n    then:\n        - a\n        -   user:  b\n    else: c",
            "$if: x\n  then:\n    - a\n    - user: b\n  else: c\n",
        ),
        (
            "$set:\n      a: |-\n             one\n               two\n\n             three  \n      b: 1",
            "$set:\n  a: |-\n    one\n      two\n\n    three  \n  b: 1\n",
        ),
        ("user: |2-\n   a\n", "user: |2-\n   a\n"),
        ("user: 'a\n      b'\n", "user: 'a\n  b'\n"),
        ("user: |+\n  a\n\n\nb", "user: |+\n  a\n\n\nb\n"),
        (
            "$a:   # c\n        # d\n        b: 1\n",
            "$a:   # c\n  # d\n  b: 1\n",
        ),
        ("$set: {\n      a: 1,\n}\n", "$set: {\n  a: 1,\n}\n"),
        (
            "!fn |-\n     f() {\n       return 1\n     }\n",
            "!fn |-\n  f() {\n    return 1\n  }\n",
        ),
        (
            "- !fn |-\n      f() {\n      }\n",
            "- !fn |-\n    f() {\n    }\n",
        ),
        ("user: a  #:b", "user: a  #:b\n"),
        ("", ""),
    ];
    for (text, expected) in table {
        let made = lay_out(text).unwrap_or_else(|| panic!("{text:?} is read"));
        assert_eq!(made, expected, "{text:?}");
        assert_eq!(lay_out(&made).as_deref(), Some(expected), "again: {text:?}");
    }
}

#[test]
fn a_text_with_errors_is_not_laid_out() {
    let source = ScriptSource {
        name: "s".to_owned(),
        path: None,
        text: "user:   b: c".into(),
    };
    let found = format(&Arc::new(source)).unwrap_err();
    assert_eq!(found.len(), 1);
}

/// Returns the comments of a text, without the code before them.
fn comments(text: &str) -> Vec<&str> {
    let own = |line: &str| line.trim_start().starts_with('#');
    text.lines()
        .filter(|line| own(line))
        .map(str::trim)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_layout_keeps_meaning_and_comments_and_is_its_own_layout(text in texts()) {
        let Some(made) = lay_out(&text) else { return Ok(()) };
        let (before, after) = (read_text(&text), read_text(&made));
        prop_assert!(after.diagnostics.is_empty(), "{made:?} {:?}", after.diagnostics);
        prop_assert_eq!(show(&before.script.body), show(&after.script.body));
        prop_assert_eq!(comments(&text), comments(&made));
        let again = lay_out(&made);
        prop_assert_eq!(again.as_ref(), Some(&made), "of {:?}", text);
    }
}
