//! Late-bound calls: when and in which order they start, and which calls are never made.

use std::time::Duration;

use quillet_template::{ErrorKind, RenderLimits};
use tokio::sync::Barrier;
use tokio::time::Instant;

use super::tools::{Hanging, RecordedCalls};
use super::{compile, generous, rows, run, variables};

const DIGITS: &str = "0123456789";

#[tokio::test]
async fn independent_calls_are_in_flight_at_the_same_time() {
    for (format, row) in rows() {
        let noted = RecordedCalls {
            // The barrier opens only when all ten calls wait at the same time.
            gate: Some(Barrier::new(10)),
            ..RecordedCalls::default()
        };
        let template = compile(&*format, row.ten);
        let rendered = run(&*template, variables(), &noted, &generous()).await;
        let rendered = rendered.unwrap_or_else(|error| panic!("{}: {error}", row.format));
        assert_eq!(rendered.text(0), DIGITS, "{}", row.format);
        assert_eq!((rendered.passes, rendered.calls), (2, 10), "{}", row.format);
        assert_eq!(noted.calls().len(), 10, "{}", row.format);
    }
}

/// The paused clock advances only while all tasks wait. It measures the length of sequential calls,
/// regardless of the load of the machine.
#[tokio::test(start_paused = true)]
async fn ten_calls_of_50_ms_end_in_under_75_ms() {
    for (format, row) in rows() {
        let noted = RecordedCalls {
            time: Duration::from_millis(50),
            ..RecordedCalls::default()
        };
        let template = compile(&*format, row.ten);
        let begun = Instant::now();
        let rendered = run(&*template, variables(), &noted, &generous()).await;
        let took = begun.elapsed();
        assert_eq!(rendered.unwrap().text(0), DIGITS, "{}", row.format);
        assert!(
            took >= Duration::from_millis(50),
            "{}: {took:?}",
            row.format
        );
        assert!(took < Duration::from_millis(75), "{}: {took:?}", row.format);
    }
}

#[tokio::test]
async fn a_call_that_needs_another_comes_in_a_further_pass() {
    for (format, row) in rows() {
        let Some(chain) = row.chain else { continue };
        let noted = RecordedCalls::default();
        let template = compile(&*format, chain);
        let rendered = run(&*template, variables(), &noted, &generous()).await;
        let rendered = rendered.unwrap_or_else(|error| panic!("{}: {error}", row.format));
        assert_eq!(rendered.text(0), "X+++", "{}", row.format);
        assert_eq!(rendered.passes, 4, "{}", row.format);
        assert_eq!(noted.calls(), ["plus"; 3], "{}", row.format);
    }
}

#[tokio::test]
async fn no_call_is_made_on_a_branch_that_is_not_taken() {
    for (format, row) in rows() {
        for (text, expected) in row.decisions {
            let noted = RecordedCalls::default();
            let template = compile(&*format, text);
            let rendered = run(&*template, variables(), &noted, &generous()).await;
            let rendered = rendered.unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(rendered.text(0), *expected, "{}: {text}", row.format);
            let calls = noted.calls();
            let wrong = calls.iter().any(|call| call == "wrong");
            assert!(!wrong, "{}: {text}: {calls:?}", row.format);
            assert!(!calls.is_empty(), "{}: {text} decides nothing", row.format);
        }
    }
}

#[tokio::test]
async fn only_calls_of_idempotent_functions_are_shared() {
    for (format, row) in rows() {
        for (idempotent, calls) in [(true, 10), (false, 20)] {
            let noted = RecordedCalls {
                idempotent,
                ..RecordedCalls::default()
            };
            let twice = row.ten.repeat(2);
            let template = compile(&*format, &twice);
            let rendered = run(&*template, variables(), &noted, &generous()).await;
            assert_eq!(
                rendered.unwrap().text(0),
                DIGITS.repeat(2),
                "{}",
                row.format
            );
            assert_eq!(noted.calls().len(), calls, "{}", row.format);
        }
    }
}

#[tokio::test]
async fn functions_are_bound_when_the_template_renders() {
    for (format, row) in rows() {
        let template = compile(&*format, row.ten);
        for answer in ["a", "b", "a"] {
            let noted = RecordedCalls {
                answer: Some(answer),
                ..RecordedCalls::default()
            };
            let rendered = run(&*template, variables(), &noted, &generous()).await;
            assert_eq!(
                rendered.unwrap().text(0),
                answer.repeat(10),
                "{}",
                row.format
            );
        }
    }
}

#[tokio::test]
async fn a_failed_call_fails_the_render_where_it_stands() {
    for (format, row) in rows() {
        let noted = RecordedCalls::default();
        let template = compile(&*format, row.fails);
        let error = run(&*template, variables(), &noted, &generous()).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind, ErrorKind::CallFailed, "{}", row.format);
        assert_eq!(
            error.reason, "error calling crash: it broke",
            "{}",
            row.format
        );
        let place = error.position.map(|at| (at.line, at.column));
        assert_eq!(place, Some((3, row.fails_at)), "{}: {error}", row.format);
        let inside = error
            .span
            .and_then(|span| row.fails.get(span.start..span.end));
        assert!(inside.is_some(), "{}: {:?}", row.format, error.span);
        assert_eq!(error.source_name, "main", "{}", row.format);
    }
}

#[tokio::test]
async fn what_is_not_there_is_named_with_its_place() {
    for (format, row) in rows() {
        let noted = RecordedCalls::default();
        let missing = compile(&*format, row.missing);
        let missing = run(&*missing, variables(), &noted, &generous()).await;
        let missing = missing.unwrap_err();
        assert_eq!(
            missing.kind,
            ErrorKind::MissingVariable,
            "{}: {missing}",
            row.format
        );
        assert!(
            missing.message.contains("nothing"),
            "{}: {missing}",
            row.format
        );
        assert!(missing.position.is_some(), "{}: {missing}", row.format);
        let Some(unknown) = row.unknown else { continue };
        let unknown = compile(&*format, unknown);
        let unknown = run(&*unknown, variables(), &noted, &generous()).await;
        let unknown = unknown.unwrap_err();
        assert_eq!(
            unknown.kind,
            ErrorKind::UnknownFunction,
            "{}: {unknown}",
            row.format
        );
        let help = unknown.help.as_deref().unwrap_or_default();
        assert!(help.contains("echo"), "{}: {help:?}", row.format);
        assert!(unknown.position.is_some(), "{}: {unknown}", row.format);
    }
}

#[tokio::test]
async fn dropping_the_render_drops_its_calls() {
    for (format, row) in rows() {
        let hanging = Hanging::default();
        let template = compile(&*format, row.ten);
        let limits = generous();
        {
            let render = run(&*template, variables(), &hanging, &limits);
            tokio::select! {
                _ = render => panic!("{}: it cannot end", row.format),
                () = hanging.called.notified() => {}
            }
        }
        assert_eq!(hanging.waiting(), 0, "{}", row.format);
    }
}

#[tokio::test]
async fn calls_that_hang_end_at_the_limit_on_time() {
    for (format, row) in rows() {
        let hanging = Hanging::default();
        let limits = RenderLimits {
            time: Duration::from_millis(20),
            ..RenderLimits::default()
        };
        let template = compile(&*format, row.ten);
        let error = run(&*template, variables(), &hanging, &limits).await;
        assert_eq!(
            error.unwrap_err().kind.code(),
            "render.timeout",
            "{}",
            row.format
        );
        assert_eq!(hanging.waiting(), 0, "{}", row.format);
    }
}

#[test]
fn one_compiled_template_renders_in_many_threads() {
    for (format, row) in rows() {
        let (template, calling) = (compile(&*format, row.print), compile(&*format, row.ten));
        let thread = |number: usize| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_time().build().unwrap();
            for turn in 0..20 {
                let x = format!("{number}/{turn}");
                let (noted, limits) = (RecordedCalls::default(), generous());
                let root = super::with_x(&x);
                let printed = runtime.block_on(run(&*template, &root, &noted, &limits));
                assert_eq!(printed.unwrap().text(0), (row.shown)(&x), "{}", row.format);
                let called = runtime.block_on(run(&*calling, &root, &noted, &limits));
                assert_eq!(called.unwrap().text(0), DIGITS, "{}", row.format);
            }
        };
        std::thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || thread(number));
            }
        });
    }
}
