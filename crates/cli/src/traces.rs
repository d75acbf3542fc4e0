//! Sets up where traces are sent: into a file of this machine, to a collector, or nowhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quillet_core::trace::TraceSink;
use quillet_server::{OtlpConfig, OtlpSink};
use quillet_store::{TraceOptions, TraceStore};

use crate::config::{self, Config, Origin};
use crate::failure::Failure;
use crate::terminal;

/// What a collector gets at most for the last traces.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The value of `agent.traces` that records nothing.
const OFF: &str = "off";
/// The path of the address of a collector (OTLP over HTTP).
const PATH: &str = "/v1/traces";

/// Where traces go.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    store: Option<Arc<TraceStore>>,
    collector: Option<Arc<OtlpSink>>,
}

impl Traces {
    /// Opens what is configured. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// A setting is wrong, or the file cannot be opened.
    pub(crate) async fn open(config: &Config) -> Result<Self, Failure> {
        Ok(Traces {
            store: store(config).await?.map(Arc::new),
            collector: collector(config)?.map(Arc::new),
        })
    }

    /// As one place; `None` where there is none.
    pub(crate) fn sink(&self) -> Option<Arc<dyn TraceSink>> {
        let store = self.store.clone().map(|store| store as Arc<dyn TraceSink>);
        let collector = self.collector.clone();
        let collector = collector.map(|collector| collector as Arc<dyn TraceSink>);
        match (store, collector) {
            (Some(store), Some(collector)) => Some(Arc::new(vec![store, collector])),
            (one, other) => one.or(other),
        }
    }

    /// Waits until what was recorded is written, and for a collector a moment.
    pub(crate) async fn flush(&self) {
        if let Some(store) = &self.store
            && let Err(error) = store.flush().await
        {
            terminal::warning(&format!("the trace was not written: {error}"));
        }
        if let Some(collector) = &self.collector {
            collector.flush(LAST_WORDS).await;
            match collector.dropped() {
                0 => {}
                count => terminal::warning(&format!(
                    "{count} traces did not reach the collector; is otlp.endpoint right?"
                )),
            }
        }
    }
}

/// The file of traces, if one is configured; `off` is none.
pub(crate) fn path(config: &Config) -> Option<PathBuf> {
    let path = config.text(&config::AGENT_TRACES);
    path.filter(|path| *path != OFF).map(PathBuf::from)
}

/// Opens the file of traces, if one is configured.
///
/// # Errors
/// It cannot be opened.
pub(crate) async fn store(config: &Config) -> Result<Option<TraceStore>, Failure> {
    let Some(path) = path(config) else {
        return Ok(None);
    };
    make_folder_of(&path)?;
    let opened = quillet_store::open_traces(&path, TraceOptions::default()).await?;
    Ok(Some(opened))
}

/// Makes the folder of a file that only its user is to read.
///
/// # Errors
/// It cannot be made.
pub(crate) fn make_folder_of(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent().filter(|folder| !folder.exists()) else {
        return Ok(());
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(folder);
    made.map_err(|error| Failure::Other(format!("cannot make {}: {error}", folder.display())))
}

/// Whether a file can be written, which is made for that.
///
/// # Errors
/// Why not.
pub(crate) fn can_write(path: &Path) -> Result<(), Failure> {
    make_folder_of(path)?;
    let opened = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let cannot = |error| Failure::Other(format!("cannot write {}: {error}", path.display()));
    opened.map(drop).map_err(cannot)
}

fn collector(config: &Config) -> Result<Option<OtlpSink>, Failure> {
    let Some(endpoint) = config.text(&config::OTLP_ENDPOINT) else {
        return Ok(None);
    };
    let headers = config.pairs(&config::OTLP_HEADERS).iter();
    let settings = OtlpConfig {
        endpoint: whole(endpoint, config.origin(&config::OTLP_ENDPOINT)),
        headers: headers
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect(),
        service: config
            .text(&config::OTLP_SERVICE)
            .unwrap_or("quillet")
            .to_owned(),
        attributes: config.pairs(&config::OTLP_ATTRIBUTES).to_vec(),
    };
    let sink = OtlpSink::start(&settings);
    sink.map(Some)
        .map_err(|error| Failure::Usage(format!("otlp.endpoint: {error}")))
}

/// The whole address: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` has it as it is, the others
/// the part before `/v1/traces` (OpenTelemetry's specification of the exporter).
fn whole(endpoint: &str, origin: Option<&Origin>) -> String {
    let is_whole =
        matches!(origin, Some(Origin::Environment(name)) if name.ends_with("TRACES_ENDPOINT"));
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
        let traces = Origin::Environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let base = Origin::Environment("OTEL_EXPORTER_OTLP_ENDPOINT");
        let cases = [
            ("http://c:4318", &base, "http://c:4318/v1/traces"),
            ("http://c:4318/", &base, "http://c:4318/v1/traces"),
            ("http://c/x/v1/traces", &base, "http://c/x/v1/traces"),
            ("http://c/in", &traces, "http://c/in"),
            ("http://c", &Origin::Default, "http://c/v1/traces"),
        ];
        for (endpoint, origin, expected) in cases {
            assert_eq!(whole(endpoint, Some(origin)), expected);
        }
    }
}
