//! Bounds that hold in every format. Each has a default and an error that names it; none relies on
//! a library's own limit. The settings are those of `[render]`; only how deep sources may nest has
//! none, since it is what a thread's stack takes.

use std::time::Duration;

/// Bounds on sources, checked before anything is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Bytes of all sources of one template together. Default 1 MiB.
    pub source_bytes: usize,
    /// Nesting of blocks, parentheses and expressions. Default 200.
    pub nesting: usize,
}

impl Default for CompileLimits {
    fn default() -> Self {
        CompileLimits {
            source_bytes: 1 << 20,
            nesting: 200,
        }
    }
}

/// Bounds on one render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// Bytes of output of all entries together. Default 8 MiB.
    pub output_bytes: usize,
    /// Bytes of strings and lists that functions build, added up over one pass. Default 32 MiB.
    pub memory_bytes: usize,
    /// Nodes evaluated, loop turns and list elements visited, in one pass. Default 1,000,000.
    pub steps: usize,
    /// Templates that call templates. Default 100.
    pub nesting: usize,
    /// Evaluations of one entry; one more than the longest chain of calls that
    /// need each other's results. Default 16.
    pub passes: usize,
    /// Late-bound calls of one render. Default 256.
    pub calls: usize,
    /// Late-bound calls that run at the same time. Default 64.
    pub concurrency: usize,
    /// Wall time of the whole render, calls included. Default 500 ms, as ai-prompt-shell documents.
    /// The service's setting is `render.time_ms`.
    pub time: Duration,
}

impl Default for RenderLimits {
    fn default() -> Self {
        RenderLimits {
            output_bytes: 8 << 20,
            memory_bytes: 32 << 20,
            steps: 1_000_000,
            nesting: 100,
            passes: 16,
            calls: 256,
            concurrency: 64,
            time: Duration::from_millis(500),
        }
    }
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// [`CompileLimits::source_bytes`].
    SourceBytes,
    /// [`CompileLimits::nesting`] or [`RenderLimits::nesting`].
    Nesting,
    /// [`RenderLimits::output_bytes`].
    OutputBytes,
    /// [`RenderLimits::memory_bytes`].
    MemoryBytes,
    /// [`RenderLimits::steps`].
    Steps,
    /// [`RenderLimits::passes`].
    Passes,
    /// [`RenderLimits::calls`].
    Calls,
    /// [`RenderLimits::time`].
    Time,
    /// Depth of a value that a template builds.
    ValueDepth,
}

impl LimitKind {
    /// Its name in messages. The setting of the same limit is in `[render]`, `render.time_ms` for
    /// [`LimitKind::Time`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LimitKind::SourceBytes => "source_bytes",
            LimitKind::Nesting => "nesting",
            LimitKind::OutputBytes => "output_bytes",
            LimitKind::MemoryBytes => "memory_bytes",
            LimitKind::Steps => "steps",
            LimitKind::Passes => "passes",
            LimitKind::Calls => "calls",
            LimitKind::Time => "time",
            LimitKind::ValueDepth => "value_depth",
        }
    }
}
