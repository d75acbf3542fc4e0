//! Checks that an exceeded limit ends a render with an error that names the limit.

use std::time::Duration;

use quillet_template::{ErrorKind, LimitKind, RenderLimits, TemplateFormat};

use super::tools::RecordedCalls;
use super::{compile_all, generous, rows, run, variables};

/// Renders with a limit that the template exceeds. Without the limit the render must succeed,
/// unless the recursion has no end.
async fn reaches(
    format: &dyn TemplateFormat,
    sources: &[(&str, &str)],
    limit: LimitKind,
    set: impl Fn(&mut RenderLimits),
) {
    let name = format.name();
    let template = compile_all(format, sources);
    let mut limits = generous();
    set(&mut limits);
    let error = run(&*template, variables(), &RecordedCalls::default(), &limits).await;
    let error = error.expect_err(name);
    assert_eq!(error.kind, ErrorKind::Limit(limit), "{name}: {error}");
    // Go has its own message for the depth of templates.
    let words = [limit.name(), "maximum template depth"];
    let named = words.iter().any(|word| error.reason.contains(word));
    assert!(named, "{name}: {error}");
    let free = run(
        &*template,
        variables(),
        &RecordedCalls::default(),
        &generous(),
    )
    .await;
    assert!(
        free.is_ok() || limit == LimitKind::Nesting,
        "{name}: {limit:?}"
    );
}

#[tokio::test]
async fn calls_and_passes() {
    for (format, row) in rows() {
        let ten = [("main", row.ten)];
        reaches(&*format, &ten, LimitKind::Calls, |limits| limits.calls = 9).await;
        reaches(&*format, &ten, LimitKind::Passes, |limits| {
            limits.passes = 1
        })
        .await;
        let Some(chain) = row.chain else { continue };
        let chain = [("main", chain)];
        reaches(&*format, &chain, LimitKind::Passes, |limits| {
            limits.passes = 3
        })
        .await;
    }
}

#[tokio::test]
async fn output_steps_and_time() {
    for (format, row) in rows() {
        let long = row.print.repeat(3000);
        let long = [("main", long.as_str())];
        let output = |limits: &mut RenderLimits| limits.output_bytes = 2999;
        reaches(&*format, &long, LimitKind::OutputBytes, output).await;
        reaches(&*format, &long, LimitKind::Steps, |limits| {
            limits.steps = 1000
        })
        .await;
        let no_time = |limits: &mut RenderLimits| limits.time = Duration::ZERO;
        reaches(&*format, &long, LimitKind::Time, no_time).await;
    }
}

#[tokio::test]
async fn memory_and_nesting() {
    for (format, row) in rows() {
        if let Some(builds) = row.builds {
            let memory = |limits: &mut RenderLimits| limits.memory_bytes = 10_000;
            reaches(
                &*format,
                &[("main", builds)],
                LimitKind::MemoryBytes,
                memory,
            )
            .await;
        }
        if let Some(recursion) = row.recursion {
            let nesting = |limits: &mut RenderLimits| limits.nesting = 9;
            reaches(&*format, &recursion, LimitKind::Nesting, nesting).await;
        }
    }
}
