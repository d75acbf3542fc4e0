//! Creates the destinations of traces: a local file, a collector, or none.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quillet_core::trace::{TraceReader, TraceSink};
use quillet_host::{OtlpConfig, OtlpSink};
use quillet_store::{TraceOptions, TraceStore};

use crate::error::Error;
use crate::settings::{self, SettingOrigin, Settings};

/// Maximum time to send the last traces to a collector.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Value of `agent.traces` that disables traces.
const OFF: &str = "off";
/// URL path of a trace collector (OTLP over HTTP).
const PATH: &str = "/v1/traces";

/// The destinations of traces.
#[derive(Debug, Default)]
pub struct Traces {
    store: Option<Arc<TraceStore>>,
    collector: Option<Arc<OtlpSink>>,
    warn: Option<fn(&str)>,
}

impl Traces {
    /// Opens the configured destinations. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// A setting is invalid, or the file cannot be opened.
    pub async fn open(settings: &Settings) -> Result<Self, Error> {
        Ok(Traces {
            store: store(settings).await?.map(Arc::new),
            collector: collector(settings)?.map(Arc::new),
            warn: Some(settings.warner()),
        })
    }

    /// Returns all destinations as one sink; `None` if there are none.
    pub fn sink(&self) -> Option<Arc<dyn TraceSink>> {
        let store = self.store.clone().map(|store| store as Arc<dyn TraceSink>);
        let collector = self.collector.clone();
        let collector = collector.map(|collector| collector as Arc<dyn TraceSink>);
        match (store, collector) {
            (Some(store), Some(collector)) => Some(Arc::new(vec![store, collector])),
            (one, other) => one.or(other),
        }
    }

    /// Returns the reader of stored traces; a collector cannot be read.
    pub fn reader(&self) -> Option<Arc<dyn TraceReader>> {
        let store = self.store.clone();
        store.map(|store| store as Arc<dyn TraceReader>)
    }

    fn warn(&self, text: &str) {
        if let Some(warn) = self.warn {
            warn(text);
        }
    }

    /// Waits until all traces are written to the file, and for a limited time until they are sent
    /// to the collector.
    pub async fn flush(&self) {
        if let Some(store) = &self.store
            && let Err(error) = store.flush().await
        {
            self.warn(&format!("cannot write the trace: {error}"));
        }
        if let Some(collector) = &self.collector {
            // The flush has a time limit, because an unreachable collector must not delay the end
            // of the program.
            collector.flush(LAST_WORDS).await;
            match collector.dropped() {
                0 => {}
                count => self.warn(&format!(
                    "{count} traces did not reach the collector; check otlp.endpoint"
                )),
            }
        }
    }
}

/// Returns the path of the trace file; `None` if unset or `off`.
pub fn path(settings: &Settings) -> Option<PathBuf> {
    let path = settings.text(&settings::AGENT_TRACES);
    path.filter(|path| *path != OFF).map(PathBuf::from)
}

/// Opens the trace file, if one is configured.
///
/// # Errors
/// The file cannot be opened.
pub async fn store(settings: &Settings) -> Result<Option<TraceStore>, Error> {
    let Some(path) = path(settings) else {
        return Ok(None);
    };
    create_parent_folder(&path)?;
    let opened = quillet_store::open_traces(&path, TraceOptions::default()).await?;
    Ok(Some(opened))
}

/// Creates the parent folder of a file, readable by the user only.
///
/// # Errors
/// The folder cannot be created.
pub fn create_parent_folder(path: &Path) -> Result<(), Error> {
    // An existing folder keeps its permissions, because the user may share it on purpose.
    let Some(folder) = path.parent().filter(|folder| !folder.exists()) else {
        return Ok(());
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    // Traces and sessions can contain prompts and answers.
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(folder);
    made.map_err(|error| {
        Error::other_from(
            format!("cannot create {}: {error}", folder.display()),
            error,
        )
    })
}

/// Checks whether a file can be written; creates it if missing.
///
/// # Errors
/// The file cannot be created or opened for writing.
pub fn can_write(path: &Path) -> Result<(), Error> {
    create_parent_folder(path)?;
    // Opened for appending, so the check never truncates a file that has data.
    let opened = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let cannot = |error: std::io::Error| {
        Error::other_from(format!("cannot write {}: {error}", path.display()), error)
    };
    opened.map(drop).map_err(cannot)
}

fn collector(settings: &Settings) -> Result<Option<OtlpSink>, Error> {
    let Some(endpoint) = settings.text(&settings::OTLP_ENDPOINT) else {
        return Ok(None);
    };
    let headers = settings.pairs(&settings::OTLP_HEADERS).iter();
    let settings = OtlpConfig {
        endpoint: full_endpoint(endpoint, settings.origin(&settings::OTLP_ENDPOINT)),
        headers: headers
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect(),
        service: settings
            .text(&settings::OTLP_SERVICE)
            .unwrap_or("quillet")
            .to_owned(),
        attributes: settings.pairs(&settings::OTLP_ATTRIBUTES).to_vec(),
    };
    let sink = OtlpSink::start(&settings);
    sink.map(Some)
        .map_err(|error| Error::setting_from(format!("otlp.endpoint: {error}"), error))
}

/// Returns the full URL. As OpenTelemetry's exporter specification requires,
/// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is used unchanged, and `/v1/traces` is appended to the
/// others.
fn full_endpoint(endpoint: &str, origin: Option<&SettingOrigin>) -> String {
    let is_whole = matches!(origin, Some(SettingOrigin::Environment(name)) if name.ends_with("TRACES_ENDPOINT"));
    // Users often set the full URL, and appending the path again would break it.
    if is_whole || endpoint.ends_with(PATH) {
        return endpoint.to_owned();
    }
    format!("{}{PATH}", endpoint.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_collector_is_made_whole() {
        let traces = SettingOrigin::Environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let base = SettingOrigin::Environment("OTEL_EXPORTER_OTLP_ENDPOINT");
        let cases = [
            ("http://c:4318", &base, "http://c:4318/v1/traces"),
            ("http://c:4318/", &base, "http://c:4318/v1/traces"),
            ("http://c/x/v1/traces", &base, "http://c/x/v1/traces"),
            ("http://c/in", &traces, "http://c/in"),
            ("http://c", &SettingOrigin::Default, "http://c/v1/traces"),
        ];
        for (endpoint, origin, expected) in cases {
            assert_eq!(full_endpoint(endpoint, Some(origin)), expected);
        }
    }
}
