//! All settings with their keys, environment variables and defaults.

use quillet_core::nearest;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingType {
    /// A string.
    Text,
    /// A string that is never printed.
    Secret,
    /// A non-negative integer.
    Integer,
    /// A non-negative number.
    Number,
    /// `true` or `false`.
    Bool,
    /// A list of strings; `a,b` in the environment.
    Texts,
    /// A list of strings that are never printed.
    Secrets,
    /// Names and strings; `a=x,b=y` in the environment.
    Table,
    /// Names and strings that are never printed.
    SecretTable,
    /// Names and positive integers; `a=1,b=2` in the environment.
    Numbers,
    /// Named tokens with permissions; only in files.
    Tokens,
}

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The key `section.name`, as in files.
    pub key: &'static str,
    /// Environment variables that set it; the first one that is set takes precedence.
    pub env: &'static [&'static str],
    /// The type of its value.
    pub form: SettingType,
    /// The default, as text; empty if there is none.
    pub default: &'static str,
}

macro_rules! settings {
    ($($name:ident = $key:literal, $form:ident, [$($env:literal),*], $default:literal;)*) => {
        $(#[doc = concat!("`", $key, "`.")]
        pub static $name: Setting = Setting {
            key: $key,
            env: &[$($env),*],
            form: SettingType::$form,
            default: $default,
        };)*
        /// All settings, by section.
        pub static ALL: &[&Setting] = &[$(&$name),*];
    };
}

settings! {
    LISTEN = "server.listen", Text, ["QUILLET_LISTEN"], "127.0.0.1:8080";
    PREFIX = "server.prefix", Text, ["QUILLET_PREFIX"], "";
    TOKENS = "server.tokens", Secrets, ["QUILLET_TOKENS"], "";
    NAMED_TOKENS = "server.token", Tokens, [], "";
    BODY_BYTES = "server.body_bytes", Integer, [], "1048576";
    RATE_LIMIT = "server.rate_limit", Integer, [], "";
    INSECURE = "server.insecure", Bool, [], "false";
    HOSTS = "server.hosts", Texts, ["QUILLET_HOSTS"], "";
    ORIGINS = "server.origins", Texts, [], "";
    CONNECTIONS = "server.connections", Integer, [], "10000";
    INLINE_TEMPLATES = "server.inline_templates", Bool, [], "";
    CHANGE_DATABASES = "server.change_databases", Bool, [], "";
    OPEN_HEALTH = "server.open_health", Bool, [], "true";
    OPEN_METRICS = "server.open_metrics", Bool, [], "false";
    NAMED_COUNTS = "server.named_counts", Integer, [], "100";
    UNREADY_WHEN_STALE = "server.unready_when_stale", Bool, [], "false";
    ACCESS_LOG = "server.access_log", Bool, [], "false";
    HEADER_MS = "server.header_ms", Integer, [], "10000";
    BODY_MS = "server.body_ms", Integer, [], "30000";
    IDLE_MS = "server.idle_ms", Integer, [], "75000";
    WRITE_MS = "server.write_ms", Integer, [], "60000";
    PING_MS = "server.ping_ms", Integer, [], "15000";
    CHAT_MS = "server.chat_ms", Integer, [], "300000";
    REVISION_MS = "server.revision_ms", Integer, [], "1000";
    DRAIN_MS = "server.drain_ms", Integer, [], "25000";
    STORE_URL = "store.url", Text, ["QUILLET_STORE", "REDIS_URL"], "";
    STORE_PREFIX = "store.prefix", Text, ["QUILLET_STORE_PREFIX"], "";
    STORE_HISTORY = "store.history", Bool, [], "true";
    STORE_CA = "store.ca_file", Text, [], "";
    STORE_INSECURE = "store.insecure", Bool, [], "false";
    STORE_CONNECT_MS = "store.connect_ms", Integer, [], "1000";
    STORE_RESPONSE_MS = "store.response_ms", Integer, [], "1000";
    STORE_PATIENCE_MS = "store.patience_ms", Integer, [], "75";
    STORE_MAX_VERSIONS = "store.max_versions", Integer, [], "10000";
    BASE_URL = "model.base_url", Text, ["OPENAI_BASE_URL", "OPENAI_API_BASE"], "";
    API_KEY = "model.api_key", Secret, ["OPENAI_API_KEY"], "";
    API_KEY_ENV = "model.api_key_env", Text, [], "";
    MODEL = "model.name", Text, ["QUILLET_MODEL"], "";
    SYSTEM = "model.system", Text, [], "";
    HEADERS = "model.headers", SecretTable, [], "";
    INCLUDE_USAGE = "model.include_usage", Bool, [], "true";
    ANTHROPIC_KEY = "model.anthropic_key", Secret, ["ANTHROPIC_API_KEY"], "";
    ANTHROPIC_URL = "model.anthropic_url", Text, ["ANTHROPIC_BASE_URL"], "";
    GOOGLE_KEY = "model.google_key", Secret, ["GEMINI_API_KEY", "GOOGLE_API_KEY"], "";
    GOOGLE_URL = "model.google_url", Text, ["GOOGLE_GEMINI_BASE_URL"], "";
    RECORD = "model.record", Text, ["QUILLET_RECORD"], "";
    REPLAY = "model.replay", Text, ["QUILLET_REPLAY"], "";
    MODEL_CONNECT_MS = "model.connect_ms", Integer, [], "10000";
    MODEL_FIRST_BYTE_MS = "model.first_byte_ms", Integer, [], "120000";
    MODEL_IDLE_MS = "model.idle_ms", Integer, [], "60000";
    MODEL_TOTAL_MS = "model.total_ms", Integer, [], "600000";
    MODEL_REQUESTS = "model.requests_per_minute", Numbers, ["QUILLET_REQUESTS_PER_MINUTE"], "";
    MODEL_TOKENS = "model.tokens_per_minute", Numbers, ["QUILLET_TOKENS_PER_MINUTE"], "";
    MODEL_RATES = "model.rates", Text, ["QUILLET_RATES"], "";
    MODEL_RATE_WAIT_MS = "model.rate_wait_ms", Integer, [], "30000";
    BUDGET_DAY_USD = "budget.day_usd", Number, ["QUILLET_BUDGET_DAY_USD"], "";
    BUDGET_DAY_TOKENS = "budget.day_tokens", Integer, ["QUILLET_BUDGET_DAY_TOKENS"], "";
    BUDGET_RUN_USD = "budget.run_usd", Number, ["QUILLET_BUDGET_RUN_USD"], "";
    BUDGET_RUN_TOKENS = "budget.run_tokens", Integer, ["QUILLET_BUDGET_RUN_TOKENS"], "";
    BUDGET_RUN_S = "budget.run_s", Number, ["QUILLET_BUDGET_RUN_S"], "";
    BUDGET_STORE = "budget.store", Text, ["QUILLET_BUDGETS"], "";
    BUDGET_ALONE = "budget.alone", Bool, [], "true";
    BUDGET_HOLD_MS = "budget.hold_ms", Integer, [], "1200000";
    BUDGET_ANSWER_TOKENS = "budget.answer_tokens", Integer, [], "4096";
    BUDGET_UNPRICED = "budget.unpriced_usd", Number, [], "";
    AGENT_SESSIONS = "agent.sessions", Text, ["QUILLET_SESSIONS"], "";
    AGENT_RUNS = "agent.runs", Text, ["QUILLET_RUNS"], "";
    AGENT_LEASE_MS = "agent.lease_ms", Integer, [], "10000";
    AGENT_LOG_PATIENCE_MS = "agent.log_patience_ms", Integer, [], "10000";
    AGENT_SKILLS = "agent.skills", Text, ["QUILLET_SKILLS"], "";
    AGENT_KNOWLEDGE = "agent.knowledge", Text, ["QUILLET_KNOWLEDGE"], "";
    AGENT_TRACES = "agent.traces", Text, ["QUILLET_TRACES"], "";
    AGENT_TRACE_TEXTS = "agent.trace_texts", Bool, ["QUILLET_TRACE_TEXTS", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"], "false";
    AGENT_MCP_SERVERS = "agent.mcp_servers", Text, ["QUILLET_MCP_SERVERS"], "";
    AGENT_CONCURRENT = "agent.concurrent", Integer, ["QUILLET_AGENT_CONCURRENT", "CHAT_SHELL_MAX_CONCURRENT_CHATS"], "50";
    AGENT_KEY_CONCURRENT = "agent.key_concurrent", Integer, [], "";
    AGENT_KEY_PER_MINUTE = "agent.key_per_minute", Integer, [], "";
    AGENT_OWN_KEYS = "agent.own_keys", Bool, [], "true";
    AGENT_TOOL_ROUNDS = "agent.tool_rounds", Integer, ["CHAT_SHELL_CHAT_TOOL_MAX_REQUESTS"], "30";
    AGENT_REPEATED_CALLS = "agent.repeated_calls", Integer, [], "3";
    AGENT_CALL_MS = "agent.call_ms", Integer, [], "60000";
    AGENT_RUN_MS = "agent.run_ms", Integer, [], "1800000";
    AGENT_HISTORY_MESSAGES = "agent.history_messages", Integer, ["CHAT_SHELL_CHAT_HISTORY_MAX_MESSAGES"], "10000";
    AGENT_RESUMABLE = "agent.resumable", Bool, [], "false";
    AGENT_JOURNAL = "agent.journal", Text, ["QUILLET_JOURNAL"], "";
    AGENT_JOURNAL_STEP_BYTES = "agent.journal_step_bytes", Integer, [], "16777216";
    AGENT_JOURNAL_STEPS = "agent.journal_steps", Integer, [], "10000";
    AGENT_JOURNAL_DAYS = "agent.journal_days", Integer, [], "30";
    AGENT_DURABLE = "agent.durable", Bool, [], "false";
    AGENT_APPROVAL_S = "agent.approval_s", Integer, [], "604800";
    AGENT_BODY_BYTES = "agent.body_bytes", Integer, [], "33554432";
    AGENT_SHOWN_TOOLS = "agent.shown_tools", Texts, ["CHAT_SHELL_TOOL_DISPLAY_WHITELIST"], "read,write,upload,exec";
    BATCH_STORE = "batch.store", Text, ["QUILLET_BATCHES"], "";
    BATCH_WORK = "batch.work", Bool, ["QUILLET_BATCH_WORK"], "true";
    BATCH_CONCURRENCY = "batch.concurrency", Integer, ["QUILLET_BATCH_CONCURRENCY"], "32";
    BATCH_LEASE_MS = "batch.lease_ms", Integer, ["QUILLET_BATCH_LEASE_MS"], "30000";
    BATCH_RETRIES = "batch.retries", Integer, [], "5";
    BATCH_ROWS = "batch.rows", Integer, [], "1000000";
    BATCH_FILE_BYTES = "batch.file_bytes", Integer, [], "536870912";
    BATCH_LINE_BYTES = "batch.line_bytes", Integer, [], "4194304";
    BATCH_KEEP_MS = "batch.keep_ms", Integer, [], "2592000000";
    OTLP_ENDPOINT = "otlp.endpoint", Text, ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"], "";
    OTLP_HEADERS = "otlp.headers", SecretTable, ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"], "";
    OTLP_SERVICE = "otlp.service_name", Text, ["OTEL_SERVICE_NAME"], "quillet";
    OTLP_ATTRIBUTES = "otlp.attributes", Table, ["OTEL_RESOURCE_ATTRIBUTES"], "";
    RENDER_TIME_MS = "render.time_ms", Integer, [], "500";
    RENDER_OUTPUT_BYTES = "render.output_bytes", Integer, [], "8388608";
    RENDER_MEMORY_BYTES = "render.memory_bytes", Integer, [], "33554432";
    RENDER_STEPS = "render.steps", Integer, [], "1000000";
    RENDER_NESTING = "render.nesting", Integer, [], "100";
    RENDER_PASSES = "render.passes", Integer, [], "16";
    RENDER_CALLS = "render.calls", Integer, [], "256";
    RENDER_SOURCE_BYTES = "render.source_bytes", Integer, [], "1048576";
    RENDER_CONCURRENCY = "render.concurrency", Integer, [], "64";
    RENDER_CACHE = "render.cache", Integer, [], "100";
    ENV_ALLOW = "prompts.env_allow", Texts, [], "";
    PROTECTED_LABELS = "prompts.protected_labels", Texts, [], "production";
    PROMPTS_SCHEMAS = "prompts.schemas", Table, ["QUILLET_SCHEMAS"], "";
    SCRIPTS_TIME_MS = "scripts.time_ms", Integer, [], "300000";
    SCRIPTS_OWN_MS = "scripts.own_ms", Integer, [], "30000";
    SCRIPTS_STEPS = "scripts.steps", Integer, [], "1000000";
    SCRIPTS_DEPTH = "scripts.depth", Integer, [], "64";
    SCRIPTS_MODEL_CALLS = "scripts.model_calls", Integer, [], "1000";
    SCRIPTS_TOKENS = "scripts.tokens", Integer, [], "";
    SCRIPTS_COST = "scripts.cost_usd", Number, [], "";
    SCRIPTS_JS_MS = "scripts.js_ms", Integer, [], "5000";
    SCRIPTS_JS_BYTES = "scripts.js_bytes", Integer, [], "67108864";
    SCRIPTS_READ = "scripts.allow_read", Texts, [], "";
    SCRIPTS_WRITE = "scripts.allow_write", Texts, [], "";
    SCRIPTS_NET = "scripts.allow_net", Bool, [], "false";
    SCRIPTS_RUN = "scripts.allow_run", Bool, [], "false";
    SCRIPTS_ENV = "scripts.allow_env", Texts, [], "";
    SQL_DATABASE = "sql.database", Text, ["QUILLET_DB"], "";
    SQL_MODEL = "sql.model", Text, ["QUILLET_SQL_MODEL"], "";
    SQL_ARCHIVE = "sql.archive", Text, ["QUILLET_SQL_ARCHIVE"], "";
    SQL_CHAIN = "sql.chain", Text, ["QUILLET_SQL_CHAIN"], "budget";
    SQL_THRESHOLD = "sql.table_selection_threshold", Integer, [], "3";
    SQL_SELECTED = "sql.max_selected_tables", Integer, [], "10";
    SQL_PHASE1_TOKENS = "sql.phase1_max_tokens", Integer, [], "256";
    SQL_PHASE1_TEMPERATURE = "sql.phase1_temperature", Number, [], "0.1";
    SQL_PHASE2_TOKENS = "sql.phase2_max_tokens", Integer, [], "4096";
    SQL_PHASE2_TEMPERATURE = "sql.phase2_temperature", Number, [], "0.1";
    SQL_FULL_SCHEMA_TOKENS = "sql.full_schema_tokens", Integer, [], "3000";
    SQL_LIST_TOKENS = "sql.list_tokens", Integer, [], "4000";
    SQL_SCHEMA_TOKENS = "sql.schema_tokens", Integer, [], "12000";
    SQL_CANDIDATES = "sql.candidates", Integer, [], "50";
    SQL_EMBEDDING_MODEL = "sql.embedding_model", Text, ["QUILLET_SQL_EMBEDDING_MODEL"], "";
    SQL_EMBEDDED = "sql.embedded_tables", Integer, [], "2000";
    SQL_REPAIR_TABLES = "sql.repair_tables", Integer, [], "3";
    SQL_REPAIRS = "sql.repairs", Integer, [], "1";
    SQL_PREVIOUS = "sql.previous", Integer, [], "5";
    SQL_DEFAULT_LIMIT = "sql.default_limit", Integer, [], "100";
    SQL_FUNCTIONS = "sql.functions", Texts, [], "";
    SQL_POWERFUL_ROLES = "sql.powerful_roles", Bool, ["QUILLET_SQL_POWERFUL_ROLES"], "false";
    SQL_SECOND_JUDGE = "sql.second_judge", Text, [], "auto";
    SQL_GLOSSARY = "sql.glossary", Table, [], "";
    SQL_GLOSSARY_FILE = "sql.glossary_file", Text, ["QUILLET_SQL_GLOSSARY"], "";
    SQL_ROWS = "sql.rows", Integer, [], "1000";
    SQL_BYTES = "sql.bytes", Integer, [], "16777216";
    SQL_TIME_MS = "sql.time_ms", Integer, [], "30000";
    SQL_EXPORT_ROWS = "sql.export_rows", Integer, [], "100000";
    SQL_EXPORT_BYTES = "sql.export_bytes", Integer, [], "268435456";
    SQL_EXPORT_MS = "sql.export_ms", Integer, [], "300000";
    SQL_TOOL_ROWS = "sql.tool_rows", Integer, [], "100";
    SQL_TOOL_CHARACTERS = "sql.tool_characters", Integer, [], "10000";
    SQL_SSL_DISABLED = "sql.ssl_disabled", Bool, [], "false";
    SQL_CONNECTIONS = "sql.connections", Integer, [], "16";
    SQL_CONNECT_MS = "sql.connect_ms", Integer, [], "10000";
    SQL_CATALOGUE_MS = "sql.catalogue_ms", Integer, [], "300000";
    SQL_CATALOGUE_AGE_MS = "sql.catalogue_age_ms", Integer, [], "60000";
    SQL_EXAMPLES = "sql.examples", Integer, [], "3";
    SQL_EXAMPLES_TOKENS = "sql.examples_tokens", Integer, [], "1000";
    SQL_VALUES = "sql.values", Text, ["QUILLET_SQL_VALUES"], "auto";
    SQL_VALUES_COLUMNS = "sql.values_columns", Integer, [], "500";
    SQL_VALUES_ROWS = "sql.values_rows", Integer, [], "5000";
    SQL_VALUES_DISTINCT = "sql.values_distinct", Integer, [], "50";
    SQL_VALUES_CHARACTERS = "sql.values_characters", Integer, [], "40";
    SQL_VALUES_BYTES = "sql.values_bytes", Integer, [], "4194304";
    SQL_VALUES_TABLE_MS = "sql.values_table_ms", Integer, [], "2000";
    SQL_VALUES_MS = "sql.values_ms", Integer, [], "30000";
    SQL_VALUES_AGE_MS = "sql.values_age_ms", Integer, [], "3600000";
    SQL_VALUES_TOKENS = "sql.values_tokens", Integer, [], "1000";
    SQL_FILE_ROWS = "sql.file_rows", Integer, [], "20000000";
    SQL_FILE_BYTES = "sql.file_bytes", Integer, [], "2147483648";
    SQL_FILE_ROW_BYTES = "sql.file_row_bytes", Integer, [], "16777216";
    SQL_FILE_ENCODING = "sql.file_encoding", Text, ["QUILLET_SQL_FILE_ENCODING"], "";
    SQL_FILE_SEPARATOR = "sql.file_separator", Text, ["QUILLET_SQL_FILE_SEPARATOR"], "";
    SQL_FILE_HEADER = "sql.file_header", Text, ["QUILLET_SQL_FILE_HEADER"], "auto";
    TERMINAL_RAW = "terminal.raw", Bool, ["QUILLET_RAW"], "false";
    LOG_FILTER = "log.filter", Text, ["QUILLET_LOG", "RUST_LOG"], "";
    LOG_JSON = "log.json", Bool, ["QUILLET_LOG_JSON"], "false";
}

/// The section of the tools; the tools crate defines its keys.
pub const TOOLS: &str = "tools";

/// Returns the setting with this key.
pub fn find(key: &str) -> Option<&'static Setting> {
    ALL.iter().copied().find(|setting| setting.key == key)
}

/// Returns whether this is the name of a section.
pub fn is_section(name: &str) -> bool {
    let in_section = |setting: &&Setting| setting.key.split('.').next() == Some(name);
    name == TOOLS || ALL.iter().any(in_section)
}

/// Returns the known key that is most similar to an unknown key. Prefers keys of the same section,
/// by their last part, and otherwise compares whole keys.
///
/// ```
/// use quillet::settings::like;
///
/// assert_eq!(like("server.lisen"), Some("server.listen"));
/// assert_eq!(like("zebra"), None);
/// ```
pub fn like(key: &str) -> Option<&'static str> {
    let keys = || ALL.iter().map(|setting| setting.key);
    let Some((section, name)) = key.split_once('.') else {
        let sections = keys().filter_map(|key| key.split('.').next());
        return nearest(key, sections.chain([TOOLS]));
    };
    let siblings = keys().filter_map(|key| key.strip_prefix(section)?.strip_prefix('.'));
    let near = nearest(name, siblings);
    let whole = near.and_then(|near| keys().find(|key| *key == format!("{section}.{near}")));
    whole.or_else(|| nearest(key, keys()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_documented_with_its_environment_and_default() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let page = std::fs::read_to_string(path).unwrap();
        for setting in ALL {
            let quoted = |name: &&str| format!("`{name}`");
            let env: Vec<String> = setting.env.iter().map(quoted).collect();
            let default = Some(setting.default).filter(|text| !text.is_empty());
            let cell = |text: String| {
                if text.is_empty() {
                    " |".to_owned()
                } else {
                    format!(" {text} |")
                }
            };
            let default = default.as_ref().map(quoted).unwrap_or_default();
            let row = format!(
                "| `{}` |{}{}",
                setting.key,
                cell(env.join(", ")),
                cell(default)
            );
            assert!(
                page.contains(&row),
                "{row:?} is not in docs/configuration.md"
            );
        }
    }

    #[test]
    fn the_nearest_name_is_looked_for_in_the_same_section_first() {
        let cases = [
            ("server.lisen", Some("server.listen")),
            ("srver", Some("server")),
            ("store.system", Some("model.system")),
            ("zebra", None),
        ];
        for (key, near) in cases {
            assert_eq!(like(key), near, "{key}");
        }
    }
}
