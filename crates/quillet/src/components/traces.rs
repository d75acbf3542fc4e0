//! Sets up where traces are sent: into a file of this machine, to a collector, or nowhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quillet_core::trace::{TraceReader, TraceSink};
use quillet_host::{OtlpConfig, OtlpSink};
use quillet_store::{TraceOptions, TraceStore};

use crate::error::Error;
use crate::settings::{self, SettingOrigin, Settings};

/// What a collector gets at most for the last traces.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// The value of `agent.traces` that records nothing.
const OFF: &str = "off";
/// The path of the address of a collector (OTLP over HTTP).
const PATH: &str = "/v1/traces";

/// Where traces go.
#[derive(Debug, Default)]
pub struct Traces {
    store: Option<Arc<TraceStore>>,
    collector: Option<Arc<OtlpSink>>,
    warn: Option<fn(&str)>,
}

impl Traces {
    /// Opens what is configured. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// A setting is wrong, or the file cannot be opened.
    pub async fn open(settings: &Settings) -> Result<Self, Error> {
        Ok(Traces {
            store: store(settings).await?.map(Arc::new),
            collector: collector(settings)?.map(Arc::new),
            warn: Some(settings.warner()),
        })
    }

    /// As one place; `None` where there is none.
    pub fn sink(&self) -> Option<Arc<dyn TraceSink>> {
        let store = self.store.clone().map(|store| store as Arc<dyn TraceSink>);
        let collector = self.collector.clone();
        let collector = collector.map(|collector| collector as Arc<dyn TraceSink>);
        match (store, collector) {
            (Some(store), Some(collector)) => Some(Arc::new(vec![store, collector])),
            (one, other) => one.or(other),
        }
    }

    /// Where they can be read; a collector gives nothing back.
    pub fn reader(&self) -> Option<Arc<dyn TraceReader>> {
        let store = self.store.clone();
        store.map(|store| store as Arc<dyn TraceReader>)
    }

    fn warn(&self, text: &str) {
        if let Some(warn) = self.warn {
            warn(text);
        }
    }

    /// Waits until what was recorded is written, and for a collector a moment.
    pub async fn flush(&self) {
        if let Some(store) = &self.store
            && let Err(error) = store.flush().await
        {
            self.warn(&format!("the trace was not written: {error}"));
        }
        if let Some(collector) = &self.collector {
            collector.flush(LAST_WORDS).await;
            match collector.dropped() {
                0 => {}
                count => self.warn(&format!(
                    "{count} traces did not reach the collector; is otlp.endpoint right?"
                )),
            }
        }
    }
}

/// The file of traces, if one is configured; `off` is none.
pub fn path(settings: &Settings) -> Option<PathBuf> {
    let path = settings.text(&settings::AGENT_TRACES);
    path.filter(|path| *path != OFF).map(PathBuf::from)
}

/// Opens the file of traces, if one is configured.
///
/// # Errors
/// It cannot be opened.
pub async fn store(settings: &Settings) -> Result<Option<TraceStore>, Error> {
    let Some(path) = path(settings) else {
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
pub fn make_folder_of(path: &Path) -> Result<(), Error> {
    let Some(folder) = path.parent().filter(|folder| !folder.exists()) else {
        return Ok(());
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.create(folder);
    made.map_err(|error| {
        Error::other_from(format!("cannot make {}: {error}", folder.display()), error)
    })
}

/// Whether a file can be written, which is made for that.
///
/// # Errors
/// Why not.
pub fn can_write(path: &Path) -> Result<(), Error> {
    make_folder_of(path)?;
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
        endpoint: whole(endpoint, settings.origin(&settings::OTLP_ENDPOINT)),
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

/// The whole address: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` has it as it is, the others
/// the part before `/v1/traces` (OpenTelemetry's specification of the exporter).
fn whole(endpoint: &str, origin: Option<&SettingOrigin>) -> String {
    let is_whole = matches!(origin, Some(SettingOrigin::Environment(name)) if name.ends_with("TRACES_ENDPOINT"));
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
            assert_eq!(whole(endpoint, Some(origin)), expected);
        }
    }
}
