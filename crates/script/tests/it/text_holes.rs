//! Holes, spacing, biases, prefixes and recipients, with the examples of the language text.

use proptest::prelude::*;
use quillet_script::text::bias::{Amount, strip};
use quillet_script::text::hole::{HoleKind, HolePart, holes};
use quillet_script::text::prefix::{
    FormatTime, MessagePlacement, TextPosition, expression_result, read,
};
use quillet_script::text::recipients::{bracketed, leading};
use quillet_script::text::spacing::splice;

type Biases = &'static [(&'static str, Amount)];
type Recipients = &'static [(&'static str, bool)];

/// Formats parts: text unchanged, holes as `<content>`.
fn shown(text: &str) -> String {
    let pieces = holes(text);
    pieces.iter().map(|piece| one(text, piece)).collect()
}

fn one(text: &str, piece: &HolePart) -> String {
    let hole = match piece {
        HolePart::Text(range) => return text[range.clone()].to_owned(),
        HolePart::Broken(broken) => return format!("<broken {}>", &text[broken.range.clone()]),
        HolePart::Hole(hole) => hole,
    };
    match &hole.kind {
        HoleKind::Ai { name, parameters } => match parameters {
            Some(range) => format!("<{name}|{}>", &text[range.clone()]),
            None => format!("<{name}>"),
        },
        HoleKind::Call {
            script,
            name,
            arguments,
        } => {
            let sort = if *script { "@" } else { "$" };
            match arguments {
                Some(range) => format!("<{sort}{name}({})>", &text[range.clone()]),
                None => format!("<{sort}{name}>"),
            }
        }
        HoleKind::Regex {
            pattern,
            flags,
            variable,
            group,
        } => {
            let pattern = &text[pattern.clone()];
            let group = group.as_deref().unwrap_or("-");
            format!("</{pattern}/{flags} {variable} {group}>")
        }
    }
}

#[test]
fn holes_of_the_seed_and_what_is_none() {
    let cases = [
        (
            "讲个笑话：[[JOKE]] 希望您喜欢！",
            "讲个笑话：<JOKE> 希望您喜欢！",
        ),
        (
            "[[RESPONSE:temperature=0.01,top_p=0.8]]",
            "<RESPONSE|temperature=0.01,top_p=0.8>",
        ),
        ("[[FRUITS:|苹果|香蕉|橙子]]", "<FRUITS||苹果|香蕉|橙子>"),
        (
            "[[FRUITS:|苹果|香蕉|橙子:type='random']]",
            "<FRUITS||苹果|香蕉|橙子:type='random'>",
        ),
        (
            "[[FRUITS：|苹果|香蕉|橙子：random]]",
            "<FRUITS||苹果|香蕉|橙子：random>",
        ),
        (
            "#五加二等于 [[@calculator(5+2)]]",
            "#五加二等于 <@calculator(5+2)>",
        ),
        ("[[@$echo]]", "<$echo>"),
        ("[[@file(file.txt)]]", "<@file(file.txt)>"),
        ("[[@dobby（message=true）]]", "<@dobby(message=true)>"),
        (
            "[[/<RESULT>(.+)</RESULT>/:Answer]]",
            "</<RESULT>(.+)</RESULT>/ Answer ->",
        ),
        (
            "x [[/<R>(.+)<\\/R>/i:Answer]]",
            "x </<R>(.+)<\\/R>/i Answer ->",
        ),
        (
            "[[/(?<nm>\\w+) Age/:Answer:nm]]",
            "</(?<nm>\\w+) Age/ Answer nm>",
        ),
        ("[[/[[a]]+/g:X：2]]", "</[[a]]+/g X 2>"),
        ("[[答案]]和[[a.b]]", "<答案>和<a.b>"),
        ("[[ X ]]", "<X>"),
        ("[[@f([[1,2],[3]])]]!", "<@f([[1,2],[3]])>!"),
        ("[[@f(\"a]] b\", 'c)]]')]].", "<@f(\"a]] b\", 'c)]]')>."),
        ("[[X:stop=[\"a\"]]] b", "<X|stop=[\"a\"]> b"),
        ("[[X:|it's|b]] don't [[Y]]", "<X||it's|b> don't <Y>"),
        ("[[X:|a\"|b]] [[Y]]", "<X||a\"|b> <Y>"),
        ("[[[A]]]", "[<A>]"),
        // No holes.
        ("[[1,2],[3]]", "[[1,2],[3]]"),
        ("[[ \"x\" ]]", "[[ \"x\" ]]"),
        ("[[Page Name]]", "[[Page Name]]"),
        ("[[ -f a ]]", "[[ -f a ]]"),
        ("[[X", "[[X"),
        ("[[X:a", "[[X:a"),
        ("[[/usr/bin]]", "[[/usr/bin]]"),
        ("[[/a/\n:X]]", "[[/a/\n:X]]"),
        ("［［X］］", "［［X］］"),
        ("[[a..b]] [[.a]]", "[[a..b]] [[.a]]"),
        // Invalid holes are reported.
        ("a [[@calc(5+2]] b", "a <broken [[@calc(5+2]]> b"),
        ("[[@]]", "<broken [[@]]>"),
        ("[[@dobby hello]]", "<broken [[@dobby hello]]>"),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn a_broken_call_says_what_is_wrong() {
    let Some(HolePart::Broken(broken)) = holes("[[@calc(5+2]]").into_iter().next() else {
        panic!("it is broken");
    };
    assert_eq!(broken.message, "unclosed parenthesis of \"calc\"");
    assert_eq!(broken.help, "write [[@name]] or [[@name(arguments)]]");
}

#[test]
fn blanks_around_what_is_put_in() {
    let cases = [
        ("五加二等于 ", "7", "", "五加二等于 7"),
        ("a ", "7", " b", "a 7 b"),
        ("a ", " 7 ", "  b", "a 7 b"),
        ("a ", "", " b", "a b"),
        ("a ", "7", " ，b", "a 7，b"),
        ("a ", "7", " . B", "a 7. B"),
        ("a ", "7", " .txt", "a 7 .txt"),
        ("summary:\n", "  code\n", "\nend", "summary:\n  code\n\nend"),
        ("", "7", " 。", "7。"),
    ];
    for (before, value, after, expected) in cases {
        let mut out = before.to_owned();
        splice(&mut out, value, after);
        assert_eq!(out, expected);
    }
}

#[test]
fn biases_of_the_seed() {
    use Amount::{Add, Never, Percent};
    let cases: &[(&str, &str, Biases)] = &[
        (
            "write ((happy:20%)) scene ((!bad:false))",
            "write happy scene",
            &[("happy", Percent(20.0)), ("bad", Never)],
        ),
        (
            "((creative:50%))",
            "creative",
            &[("creative", Percent(50.0))],
        ),
        ("((!敏感词:false))好", "好", &[("敏感词", Never)]),
        ("a ((!b:-10%)) c", "a c", &[("b", Percent(-10.0))]),
        (
            "((a：1.5)) ((b:-2))",
            "a b",
            &[("a", Add(1.5)), ("b", Add(-2.0))],
        ),
        ("(((a:b:1)))", "(a:b)", &[("a:b", Add(1.0))]),
        (
            "f((x)) ((a:b)) ((a:inf)) ((:1)) ((a:1)",
            "f((x)) ((a:b)) ((a:inf)) ((:1)) ((a:1)",
            &[],
        ),
        ("((x)) ((a:1))", "((x)) a", &[("a", Add(1.0))]),
    ];
    for (text, stripped, expected) in cases {
        let (out, found) = strip(text);
        assert_eq!(&out, stripped, "{text}");
        let found: Vec<(&str, Amount)> = found.iter().map(|b| (&*b.text, b.amount)).collect();
        assert_eq!(&found, expected, "{text}");
    }
}

#[test]
fn prefixes_of_the_seed() {
    use FormatTime::{Default, Expression, Immediate, Raw};
    let replace = |index, role| MessagePlacement::Replace { index, role };
    let insert = |index, role| MessagePlacement::Insert { index, role };
    let (message, argument) = (TextPosition::Message, TextPosition::Argument);
    let cases = [
        (
            "~{{description}}",
            message,
            MessagePlacement::Push,
            Raw,
            "{{description}}",
        ),
        (
            "!{{description}}",
            argument,
            MessagePlacement::Push,
            Immediate,
            "{{description}}",
        ),
        (
            "?=23+5",
            argument,
            MessagePlacement::Push,
            Expression,
            "23+5",
        ),
        (
            "#:Message",
            message,
            replace(None, None),
            Default,
            "Message",
        ),
        (
            "#:!Message",
            message,
            replace(None, None),
            Immediate,
            "Message",
        ),
        (
            "#:[-1]Message",
            message,
            replace(Some(-1), None),
            Default,
            "Message",
        ),
        (
            "#:[-1:assistant]changed",
            message,
            replace(Some(-1), Some("assistant")),
            Default,
            "changed",
        ),
        ("#:[0:]x", message, replace(Some(0), None), Default, "x"),
        (
            "#+[0:system]sys",
            message,
            insert(Some(0), Some("system")),
            Default,
            "sys",
        ),
        (
            "#+[assistant]!hi",
            argument,
            insert(None, Some("assistant")),
            Immediate,
            "hi",
        ),
        (
            ":[-2:user]m",
            message,
            replace(Some(-2), Some("user")),
            Default,
            "m",
        ),
        ("+m", message, insert(None, None), Default, "m"),
        ("+[[X]]", message, insert(None, None), Default, "[[X]]"),
        (
            "#+[:助手]m",
            message,
            insert(None, Some("助手")),
            Default,
            "m",
        ),
        // Plain text.
        (":m", argument, MessagePlacement::Push, Default, ":m"),
        ("+1", argument, MessagePlacement::Push, Default, "+1"),
        (
            "#1 of 2",
            message,
            MessagePlacement::Push,
            Default,
            "#1 of 2",
        ),
        (
            "# Title",
            argument,
            MessagePlacement::Push,
            Default,
            "# Title",
        ),
        (
            "#:[0:system",
            message,
            MessagePlacement::Push,
            Default,
            "#:[0:system",
        ),
        ("#:[]m", message, MessagePlacement::Push, Default, "#:[]m"),
        (
            "#:[a b]m",
            message,
            MessagePlacement::Push,
            Default,
            "#:[a b]m",
        ),
        (
            "#:[1.5]m",
            message,
            MessagePlacement::Push,
            Default,
            "#:[1.5]m",
        ),
        (
            "#:[99999999999999999999]m",
            message,
            MessagePlacement::Push,
            Default,
            "#:[99999999999999999999]m",
        ),
        ("?", message, MessagePlacement::Push, Default, "?"),
    ];
    for (text, position, place, form, rest) in cases {
        let found = read(text, position);
        assert_eq!(
            (found.place, found.form, found.text),
            (place, form, rest),
            "{text}"
        );
        assert_eq!(&text[found.start..], rest, "{text}");
        assert_eq!(found.deprecated, None, "{text}");
    }
}

#[test]
fn old_prefixes_work_and_are_told() {
    let cases = [
        (
            "#一共是{{LatestResult}}块糖",
            FormatTime::Immediate,
            "一共是{{LatestResult}}块糖",
        ),
        (
            "#五加二等于 [[@calculator(5+2)]]",
            FormatTime::Immediate,
            "五加二等于 [[@calculator(5+2)]]",
        ),
        ("!:[0]m", FormatTime::Default, "m"),
        ("!+!m", FormatTime::Immediate, "m"),
    ];
    for (text, form, rest) in cases {
        let found = read(text, TextPosition::Message);
        assert_eq!((found.form, found.text), (form, rest));
        assert!(found.deprecated.is_some(), "{text}");
    }
    assert_eq!(
        expression_result("#{{a}}"),
        (FormatTime::Immediate, "{{a}}")
    );
    assert_eq!(expression_result("{{a}}"), (FormatTime::Default, "{{a}}"));
}

#[test]
fn recipients_of_the_seed() {
    let cases: &[(&str, Recipients, &str)] = &[
        ("@dobby, I want to go", &[("dobby", false)], "I want to go"),
        ("@dobby(私),秘密", &[("dobby", true)], "秘密"),
        (
            "@dobby(PM), @other ...",
            &[("dobby", true), ("other", false)],
            "...",
        ),
        (
            "@dobby（dm）， @char-b，hi",
            &[("dobby", true), ("char-b", false)],
            "hi",
        ),
        ("@all hi all", &[("all", false)], "hi all"),
        ("@小精灵 你好", &[("小精灵", false)], "你好"),
        ("@a", &[("a", false)], ""),
        ("@a: hi", &[("a", false)], ": hi"),
        ("@a.example is mail", &[], "@a.example is mail"),
        ("me@a.example", &[], "me@a.example"),
        ("hi @a", &[], "hi @a"),
        ("@a(loud) hi", &[], "@a(loud) hi"),
        ("@a(PM hi", &[], "@a(PM hi"),
        ("@ a", &[], "@ a"),
        ("", &[], ""),
    ];
    for (text, expected, rest) in cases {
        let (found, left) = leading(text);
        let found: Vec<(&str, bool)> = found.iter().map(|r| (&*r.name, r.private)).collect();
        assert_eq!((&*found, left), (*expected, *rest), "{text}");
    }
    let found = bracketed("@dobby(PM), other，@小").unwrap();
    let names: Vec<&str> = found.iter().map(|r| &*r.name).collect();
    assert_eq!(names, ["dobby", "other", "小"]);
    assert!(found[0].private && !found[1].private);
    let wrong = bracketed("@a，b c, d").unwrap_err();
    assert_eq!(wrong.range, 5..8);
    assert_eq!(
        wrong.message,
        "invalid recipient \"b c\": write @name or @name(PM)"
    );
}

/// Generates text from the marks that these parsers recognize.
fn marks() -> impl Strategy<Value = String> {
    let parts = [
        "[[", "]]", "[", "]", "@", "$", "X", "名", ":", "：", "(", ")", "（", "）", "\"", "'", "/",
        "|", ",", "，", " ", "\n", "=", "\\", "{{", "}}", "((", "))", "!", "#", "+", "~", "?=",
        "1", "-1", "20%", "false", "PM", "私", ".",
    ];
    let part = (0..parts.len()).prop_map(move |at| parts[at]);
    proptest::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn pieces_are_the_text(text in marks()) {
        let mut at = 0;
        for piece in holes(&text) {
            let range = match piece {
                HolePart::Text(range) => range,
                HolePart::Hole(hole) => {
                    prop_assert!(text[hole.range.clone()].starts_with("[["));
                    prop_assert!(text[hole.range.clone()].ends_with("]]"));
                    hole.range
                }
                HolePart::Broken(broken) => broken.range,
            };
            prop_assert_eq!(range.start, at);
            prop_assert!(text.get(range.clone()).is_some_and(|part| !part.is_empty()));
            at = range.end;
        }
        prop_assert_eq!(at, text.len());
    }

    #[test]
    fn nothing_panics_and_nothing_is_made_up(text in marks()) {
        let (stripped, found) = strip(&text);
        prop_assert!(stripped.len() <= text.len());
        prop_assert!(!found.is_empty() || stripped == text);
        let (_, rest) = leading(&text);
        prop_assert!(text.ends_with(rest));
        let _ = bracketed(&text);
        for position in [TextPosition::Message, TextPosition::Argument] {
            let read = read(&text, position);
            prop_assert_eq!(&text[read.start..], read.text);
        }
    }
}

/// Many unclosed marks are parsed quickly only if each byte is scanned a few times.
#[test]
fn hostile_texts_are_read_in_one_go() {
    let hostile = [
        "[[",
        "[[A:",
        "[[@a(",
        "[[@a(\"",
        "[[/",
        "[[/a/:",
        "[[A:\"]] ",
        "[[A:([[x]] ",
        "[[A:='",
        "[[@f(`",
        "((",
        "((a:1",
        "@a,",
        "[[/]]",
    ];
    for part in hostile {
        for end in ["", "]]", "\"]]\"", "))"] {
            let text = part.repeat(200_000 / part.len()) + end;
            let last = holes(&text).last().cloned();
            assert!(last.is_some());
            let (stripped, _) = strip(&text);
            assert!(stripped.len() <= text.len());
            assert!(text.ends_with(leading(&text).1));
        }
    }
}
