//! The table of error codes. Each stable code has its HTTP status, exit code, retryability and fix.
//! Servers, the command line and the documentation (`docs/errors.md`) read this table, so a failure
//! has the same status and exit code everywhere.
//!
//! A row is `Variant "code" STATUS EXIT RETRY "fix"`. STATUS is the HTTP status, or `_` if no route
//! returns the code. EXIT is the exit code of the command line, or `_` if no command ends with the
//! code. RETRY is `again` if the same request may succeed when it is retried, and `no` otherwise. A
//! row may end with values for compatible APIs: `openai STATUS TYPE CODE` for errors in OpenAI's
//! format, and `sql STATUS` for the database routes. The codes of `/v1/response` come from Chat
//! Shell and have separate rows.

#[cfg(test)]
mod errors_page;

use std::fmt;

use serde::{Serialize, Serializer};

/// Exit codes of failed commands; success is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// General failure.
    Failure = 1,
    /// The command line or the configuration is invalid.
    Usage = 2,
    /// A template or a script is invalid, or a variable is missing or invalid.
    Template = 3,
    /// The model call failed.
    Provider = 4,
    /// The operation was denied by a permission.
    Refused = 5,
    /// Interrupted: the exit code that shells report for SIGINT.
    Interrupted = 130,
    /// The output pipe was closed: the exit code that shells report for SIGPIPE.
    ClosedPipe = 141,
}

/// An error in OpenAI's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAi {
    /// The HTTP status, which the SDKs map to typed errors.
    pub status: u16,
    /// `error.type`.
    pub kind: &'static str,
    /// `error.code`, or `None` if the provider's own code is passed through.
    pub code: Option<&'static str>,
}

/// One row of the table.
#[derive(Debug)]
struct ErrorCodeEntry {
    code: &'static str,
    meaning: &'static str,
    help: &'static str,
    page: &'static str,
    status: Option<u16>,
    exit: Option<Exit>,
    retryable: bool,
    openai: Option<OpenAi>,
    sql: Option<u16>,
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

macro_rules! optional {
    (_) => {
        None
    };
    (again) => {
        true
    };
    (no) => {
        false
    };
    ($number:literal) => {
        Some($number)
    };
    ($exit:ident) => {
        Some(Exit::$exit)
    };
}

macro_rules! errors {
    ($($page:literal {
        $(#[doc = $meaning:literal]
        $name:ident $code:literal $status:tt $exit:tt $retry:tt $help:literal
            $(openai $openai:literal $kind:ident $openai_code:tt)? $(sql $sql:literal)?;)*
    })*) => {
        /// A stable error code. Codes never change, but a release may add codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[doc = concat!("`", $code, "`:", $meaning)] $name,)*)*
        }

        impl ErrorCode {
            /// All codes, in the order of the documentation.
            pub const ALL: &[ErrorCode] = &[$($(ErrorCode::$name,)*)*];
        }

        static TABLE: &[ErrorCodeEntry] = &[$($(ErrorCodeEntry {
            code: $code,
            meaning: $meaning,
            help: $help,
            page: $page,
            status: optional!($status),
            exit: optional!($exit),
            retryable: optional!($retry),
            openai: errors!(@openai $($openai $kind $openai_code)?),
            sql: errors!(@sql $($sql)?),
        },)*)*];
    };
    (@openai) => { None };
    (@openai $status:literal $kind:ident $code:tt) => {
        Some(OpenAi { status: $status, kind: $kind, code: optional!($code) })
    };
    (@sql) => { None };
    (@sql $status:literal) => { Some($status) };
}

errors! {
"http.md" {
    /// The body is not valid JSON, or does not match the schema.
    RequestBody "request.body" 400 _ no "fix the body at `line` and `column`" sql 422;
    /// The path is not valid UTF-8.
    RequestPath "request.path" 400 _ no "percent-encode the path as UTF-8";
    /// A query parameter is invalid.
    RequestQuery "request.query" 422 _ no "send the parameters that /openapi.json lists for this route";
    /// The `Host` header is missing or was sent more than once.
    RequestHost "request.host" 400 _ no "send the header `Host: NAME:PORT` once";
    /// The value is not a valid revision.
    RequestRevision "request.revision" 400 _ no "send a revision, or `latest`";
    /// The body arrived too slowly.
    RequestSlow "request.slow" 408 _ again "send it faster, or raise server.body_ms";
    /// The body is too large.
    RequestTooLarge "request.too_large" 413 _ no "send a smaller body, or raise server.body_bytes (agent.body_bytes for agents)";
    /// The content encoding of the body is not supported.
    RequestEncoding "request.encoding" 415 _ no "send the body as gzip, or without Content-Encoding";
    /// The headers are larger than 64 KiB.
    RequestHeaders "request.headers" 431 _ no "send fewer or shorter headers";
    /// The route does not exist.
    RouteUnknown "route.unknown" 404 _ no "GET /openapi.json lists the routes";
    /// The route does not support this method.
    RouteMethod "route.method" 405 _ no "use a method that the `Allow` header lists";
    /// The request has no token.
    AuthMissing "auth.missing" 401 _ no "send `Authorization: Bearer TOKEN`";
    /// The token is unknown to this server.
    AuthRefused "auth.refused" 401 _ no "send a token from server.tokens, or the secret of a `[server.token.NAME]` table";
    /// The token lacks the required permission.
    AuthForbidden "auth.forbidden" 403 Refused no "use a token that has this permission for the id";
    /// A page of another origin sent the request.
    BrowserOrigin "browser.origin" 403 _ no "add the page's origin to server.origins";
    /// `Host` does not name this server.
    BrowserHost "browser.host" 403 _ no "add the name to server.hosts";
    /// The client exceeded `server.rate_limit`.
    RateLimited "rate.limited" 429 _ again "wait for the time in `Retry-After`";
    /// The server did not see the requested revision in time.
    RevisionUnseen "revision.unseen" 409 _ again "retry, or write the definition again";
    /// The store did not report in time whether it has a newer revision.
    RevisionTimeout "revision.timeout" 503 _ again "retry, or leave out min_revision";
    /// The response took longer than `server.chat_ms`.
    ChatTimeout "chat.timeout" 503 _ again "request a stream";
    /// The server is shutting down.
    ServerStopping "server.stopping" 503 _ again "retry; another replica answers";
    /// The response cannot be written as JSON.
    ServerAnswer "server.answer" 500 _ no "use values that are nested less deeply";
    /// An internal error in the server.
    ServerDefect "server.defect" 500 _ no "report it with `request_id` and the log";
    /// The message is not valid in the Model Context Protocol.
    McpRequest "mcp.request" 400 _ no "send a message that your revision of the protocol defines";
    /// The server cannot open its port.
    ServerBind "server.bind" _ Failure again "stop the process that uses the port, or change server.listen";
    /// Other machines can reach the address, and no token is set.
    ServerOpen "server.open" _ Usage no "set server.tokens or `[server.token.NAME]`, or listen on 127.0.0.1";
    /// The prefix is not a valid path.
    ServerPrefix "server.prefix" _ Usage no "set server.prefix to `/NAME`";
    /// An entry of `server.hosts` is not a valid name.
    ServerHost "server.host" _ Usage no "write NAME, NAME:PORT, *.NAME or *";
    /// A token is empty, or has characters that a header cannot carry.
    ServerToken "server.token" _ Usage no "use printable ASCII characters without spaces";
}
"prompts.md" {
    /// The definition does not exist.
    NotFound "not_found" 404 Failure no "check `hint`, or list the ids" openai 404 INVALID "model_not_found";
    /// The definition is invalid.
    DefinitionInvalid "definition.invalid" 400 Template no "fix the problems listed in `diagnostics`";
    /// Variables do not match the prompt's parameters.
    VariablesInvalid "variables.invalid" 400 Template no "fix the problems listed in `problems`";
    /// A variable is undefined.
    RenderMissingVariable "render.missing_variable" 400 Template no "send the variables listed in `missing`";
    /// The template calls an unknown function.
    RenderUnknownFunction "render.unknown_function" 400 Template no "check `hint`, or register the tool";
    /// The template calls a tool whose definition is invalid.
    RenderBrokenTool "render.broken_tool" 400 Template no "fix the tool's definition";
    /// The value of a variable contains a line that begins a message, which the template does not allow.
    RenderStrictVariable "render.strict_variable" 400 Template no "remove the line that begins a message from the value";
    /// A call failed: a computed name does not match a usable tool, or a script cannot be read.
    RenderCallFailed "render.call_failed" 500 Template no "fix the name, or the tool or script that it names";
    /// The template cannot be evaluated with these values.
    RenderExecution "render.execution" 500 Template no "fix the template or the value at `line` and `column`";
    /// The render took longer than `render.time_ms`.
    RenderTimeout "render.timeout" 503 Template again "call faster tools, or raise render.time_ms";
    /// The render exceeded another limit.
    RenderLimit "render.limit" 500 Template no "raise the `[render]` setting that the message names";
    /// Templates in requests are disabled.
    RenderInlineTemplates "render.inline_templates" 403 _ no "set server.inline_templates, or store the prompt";
}
"stores.md" {
    /// The store is unreachable.
    StoreUnavailable "store.unavailable" 503 Failure again "check that the store is running and that store.url is correct";
    /// The store rejected the operation: missing privileges, read-only or full.
    StoreRefused "store.refused" 500 Refused no "grant the user in store.url the privileges, or free space in the store";
    /// The address or a setting of the store is invalid.
    StoreConfiguration "store.configuration" 500 Usage no "fix the setting that the message names";
    /// A stored entry is corrupt.
    StoreCorrupt "store.corrupt" 500 Failure no "write the entry that the message names again";
}
"history.md" {
    /// The definition or label is no longer at the version that the request expects. Nothing was changed.
    HistoryConflict "history.conflict" 412 Failure no "read it again, and apply your change to the current version";
    /// The version does not exist.
    HistoryVersion "history.version" 404 Failure no "use a version from the message or from the list of versions";
    /// The label does not exist.
    HistoryLabel "history.label" 404 Failure no "use a label that the message lists, or set this one";
    /// The version selector of an id, or the name or target of a label, is invalid.
    HistoryMark "history.mark" 400 Usage no "write ID@LABEL, ID@NUMBER or ID@sha256:DIGITS";
    /// The label is protected, and the caller lacks the permission `promote`.
    HistoryProtected "history.protected" 403 Refused no "use a token with the permission promote";
    /// The store has no version history.
    HistoryNone "history.none" 501 Failure no "use a memory:, dir:, sqlite: or redis: store";
    /// The file of version histories is invalid.
    HistoryImport "history.import" 400 Failure no "import a file that quillet export wrote";
    /// The definition is invalid, and the request does not set `broken=allow`.
    HistoryBroken "history.broken" 422 Template no "fix the problems listed in the diagnostics, or write it with ?broken=allow";
}
"doors.md" {
    /// A client that fills in variables itself requested a prompt that the compatible API cannot represent exactly.
    DoorInexact "door.inexact" 422 Template no "fix what the message names, or render on the server: `POST /api/render/prompts/ID`";
    /// A request to a compatible API is invalid or not supported.
    DoorRequest "door.request" 400 _ no "send what the message asks for";
}
"configuration.md" {
    /// A setting or a configuration file is invalid.
    SettingInvalid "setting.invalid" _ Usage no "correct the setting that the message names";
    /// The operating system, a file or a process failed.
    SystemFailed "system.failed" _ Failure no "check the file, folder or process that the message names";
}
"install.md" {
    /// The feature is not in this build.
    FeatureMissing "build.feature_missing" 501 Usage no "build with the feature that the message names, or use a released binary";
}
"providers.md" {
    /// The provider is unreachable.
    ModelConnect "model.connect" 502 Provider again "check that the provider's address is correct and reachable" openai 502 SERVER "model.connect" sql 503;
    /// The provider did not respond in time.
    ModelTimeout "model.timeout" 502 Provider again "retry, or raise model.first_byte_ms, model.idle_ms or model.total_ms" openai 504 SERVER "timeout" sql 503;
    /// The provider's rate limit was reached.
    ModelRateLimited "model.rate_limited" 502 Provider again "wait for the time in `Retry-After`" openai 429 REQUESTS "rate_limit_exceeded" sql 503;
    /// The configured rate of the provider or the model is used up for longer than the request can wait.
    ModelOverRate "model.over_rate" 429 Provider again "wait for the time in `Retry-After`, or raise model.requests_per_minute or model.tokens_per_minute" openai 429 REQUESTS "rate_limit_exceeded" sql 429;
    /// The account has no quota left.
    ModelQuota "model.quota" 502 Provider no "add credit to the account, or use another key" openai 429 QUOTA "insufficient_quota" sql 503;
    /// The provider is overloaded.
    ModelOverloaded "model.overloaded" 502 Provider again "retry later, or use another model" openai 503 SERVER "overloaded" sql 503;
    /// The provider failed.
    ModelProvider "model.provider" 502 Provider again "retry; the message contains the provider's error" openai 502 SERVER "model.provider" sql 503;
    /// The API key is missing or invalid.
    ModelAuth "model.auth" 502 Provider no "set the provider's key (`quillet keys set`)" openai 401 INVALID "invalid_api_key" sql 503;
    /// The API key does not have permission for this request.
    ModelForbidden "model.forbidden" 502 Provider no "use a key that has permission for this model" openai 403 INVALID "forbidden" sql 503;
    /// The provider does not have this model.
    ModelNotFound "model.not_found" 502 Provider no "use a model that `quillet models` lists" openai 404 INVALID "model_not_found" sql 503;
    /// The conversation exceeds the model's context window.
    ModelContextLength "model.context_length" 502 Provider no "send less, or use a model with a larger context window" openai 400 INVALID "context_length_exceeded" sql 503;
    /// The provider's content filter rejected the request.
    ModelContentFilter "model.content_filter" 502 Provider no "rephrase the request" openai 400 INVALID "content_filter" sql 503;
    /// The provider rejected the request.
    ModelRefused "model.refused" 502 Provider no "fix what the provider's message names" openai 400 INVALID _ sql 503;
    /// The model wrote an invalid tool call.
    ModelMalformedToolCall "model.malformed_tool_call" 502 Provider again "retry" openai 502 SERVER "model.malformed_tool_call" sql 503;
    /// The provider's response is invalid.
    ModelProtocol "model.protocol" 502 Provider no "check that the address serves this provider API" openai 502 SERVER "model.protocol" sql 503;
    /// The stream was truncated.
    ModelCut "model.cut" 502 Provider no "retry; the text received so far is incomplete" openai 502 SERVER "model.cut" sql 503;
    /// No model is configured.
    ModelConfiguration "model.configuration" 503 Provider no "set model.name and the provider's key" openai 503 SERVER "model.configuration";
}
"budgets.md" {
    /// A budget of tokens, money or time has too little left for this model call.
    BudgetExceeded "budget.exceeded" 429 Provider no "for a daily budget wait for the next day in UTC, else request less, or raise the budget that the message names" openai 429 QUOTA "insufficient_quota" sql 429;
    /// A budget of money applies, and the price of the model is unknown.
    BudgetUnpriced "budget.unpriced" 403 Provider no "use a model with a known price, or set budget.unpriced_usd" openai 403 INVALID "budget.unpriced" sql 403;
    /// The shared budget store is unavailable, and budget.alone is off.
    BudgetUnavailable "budget.unavailable" 503 Provider again "retry when the store is available, or set budget.alone" openai 503 SERVER "budget.unavailable" sql 503;
}
"tools.md" {
    /// The tool does not exist.
    ToolUnknown "tool.unknown" _ _ no "use an existing tool";
    /// The arguments do not match the tool's schema.
    ToolArguments "tool.arguments" _ _ no "send arguments that match the schema";
    /// The call took too long.
    ToolTimeout "tool.timeout" _ _ again "raise the tool's time limit";
    /// The address or the tool is not allowed.
    ToolRefused "tool.refused" _ _ no "allow it in `[tools]`";
    /// The connection failed or was lost.
    ToolTransport "tool.transport" _ _ again "check that the tool's address is correct and reachable";
    /// The remote service returned an error.
    ToolRemote "tool.remote" _ _ no "check the error of the remote service";
    /// The result is too large.
    ToolTooLarge "tool.too_large" _ _ no "request less, or raise the tool's result limit";
    /// The response is invalid.
    ToolProtocol "tool.protocol" _ _ no "check that the address uses the protocol in the definition";
    /// A built-in tool is not configured.
    ToolNotConfigured "tool.not_configured" _ _ no "set what the message names";
    /// An option of a built-in tool is invalid.
    ToolOption "tool.option" _ _ no "fix the option that the message names";
    /// The model made too many calls in one turn.
    ToolTooMany "tool.too_many" _ _ no "no action: the model sees the error";
    /// The model repeated the same call too many times in a row.
    ToolRepeated "tool.repeated" _ _ no "no action: the model sees the error";
    /// The tool crashed during a call.
    ToolPanic "tool.panic" _ _ no "report it with the log";
}
"agent/response.md" {
    /// Agents or durable runs are not configured on this server.
    AgentConfiguration "agent.configuration" 503 _ no "set agent.sessions or agent.journal, as the message says";
    /// A run with this id is in progress.
    AgentRunning "agent.running" 409 _ no "choose another X-Request-ID";
    /// The process or the key has reached its limit on concurrent runs, or the key its limit per minute.
    AgentLimit "agent.limit" 429 _ again "wait for the time in `Retry-After`";
}
"agent/durable.md#errors" {
    /// The durable run does not exist, or belongs to another caller.
    DurableUnknown "run.unknown" 404 Usage no "use a run from `GET /v1/runs` (`quillet runs list`)";
    /// The run or call has no pending approval, another approval is still pending, or the decision was already made.
    DurableNotWaiting "run.not_waiting" 409 Failure no "list the pending approvals: `GET /v1/runs/ID` (`quillet runs show ID`)";
    /// The run has no such step.
    DurableStep "run.step" 400 Usage no "use a step that `quillet runs show ID` lists";
    /// The script took different steps than its journal records.
    DurableDiverged "run.diverged" 500 Failure no "compare the steps in `quillet runs show ID` with what has changed since: a prompt that it calls, the capabilities of its models, or this program; then start a new run, or fork it from an earlier step";
}
"agent/response.md#errors" {
    /// The API key is missing or invalid.
    RunAuth "auth" 401 Provider no "set the provider's key";
    /// The API key does not have permission for this request.
    RunForbidden "forbidden" 403 Provider no "use a key that has permission for this model";
    /// A rate limit of the provider or of this server was reached.
    RunRateLimit "rate_limit" 429 Provider again "wait for the time in `retry_after_s`";
    /// The account has no quota left.
    RunQuota "quota" 429 Provider no "add credit to the account, or use another key";
    /// A budget of tokens, money or time has too little left.
    RunBudget "budget_exceeded" 429 Provider no "wait for the time in `retry_after_s`, or raise the budget that the message names";
    /// The model or agent does not exist.
    RunModelNotFound "model_not_found" 404 Usage no "use an existing one";
    /// The provider rejected the request, or the request names an unknown tool or skill.
    RunInvalidRequest "invalid_request" 400 Usage no "fix what the message names";
    /// The conversation exceeds the model's context window.
    RunContextLength "context_length" 400 Provider no "send less, or use a model with a larger context window";
    /// The provider's content filter rejected the request.
    RunContentFilter "content_filter" 400 Provider no "rephrase the request";
    /// The provider is overloaded.
    RunOverloaded "overloaded" 503 Provider again "retry later, or use another model";
    /// The provider or the run took too long.
    RunTimeout "timeout" 504 Provider again "retry, or raise agent.run_ms";
    /// The provider or a store failed.
    RunServerError "server_error" 502 Failure again "retry; `message` contains the cause";
    /// The provider is unreachable.
    RunNetwork "network" 502 Provider again "check that the provider's address is reachable";
    /// The provider's stream was truncated.
    RunStreamTruncated "stream_truncated" 502 Provider no "retry; the text received so far is incomplete";
    /// The model wrote an invalid tool call.
    RunMalformedToolCall "malformed_tool_call" 502 Provider again "retry";
    /// The replica that ran the request has stopped, or its event log cannot be read.
    RunInterrupted "interrupted" _ _ again "retry";
    /// The request was cancelled.
    RunCancelled "cancelled" 409 Interrupted no "retry if this was unintended";
    /// An internal error in the server.
    RunInternalError "internal_error" 500 Failure no "report it with the log";
}
"openai.md#errors" {
    /// A value is not one of the allowed values.
    InvalidValue "invalid_value" 400 _ no "fix what `param` names";
    /// A value has the wrong type.
    InvalidType "invalid_type" 400 _ no "fix what `param` names";
    /// The body is not valid JSON.
    InvalidJson "invalid_json" 400 _ no "fix the body at the position in the message";
    /// The parameter is not supported.
    UnsupportedParameter "unsupported_parameter" 400 _ no "remove what `param` names";
    /// The encrypted reasoning in `input` was changed.
    InvalidEncryptedContent "invalid_encrypted_content" 400 _ no "send it back exactly as you received it";
    /// The previous response does not exist.
    PreviousResponseNotFound "previous_response_not_found" 404 _ no "send the conversation in `input`";
    /// The response does not exist.
    ResponseNotFound "response_not_found" 404 _ no "use the id of a stored response";
}
"batches.md#errors" {
    /// The file does not exist, or belongs to another caller.
    FileNotFound "file_not_found" 404 _ no "use a file from `GET /v1/files`";
    /// The file is too large.
    FileTooLarge "file_too_large" 413 _ no "split the file, or raise batch.file_bytes";
    /// A line of the file is too long.
    LineTooLong "line_too_long" 413 Usage no "shorten the line that the message names, or raise batch.line_bytes";
    /// An unfinished batch reads from this file.
    FileInUse "file_in_use" 409 _ again "cancel the batch, or wait until it ends";
    /// The batch does not exist, or belongs to another caller.
    BatchNotFound "batch_not_found" 404 _ no "use a batch from `GET /v1/batches`";
    /// The batch has already ended.
    BatchEnded "batch_ended" 409 _ no "read its files; nothing is left to cancel";
    /// This server does not store batches.
    BatchConfiguration "batch.configuration" 503 _ no "serve with `quillet serve`";
    /// An input line is not a JSON object.
    BatchLine "invalid_json_line" _ Usage no "write one JSON object on each line";
    /// Two input lines have the same `custom_id`.
    BatchDuplicate "duplicate_custom_id" _ Usage no "give each line its own `custom_id`";
    /// The `url` of an input line differs from the endpoint of the batch.
    BatchUrl "mismatched_url" _ Usage no "set `url` to the endpoint of the batch";
    /// A member of an input line is missing or invalid.
    BatchMember "invalid_request_line" _ Usage no "fix what `param` names";
    /// The input has no lines.
    BatchEmpty "empty_file" _ Usage no "write one request on each line";
    /// The input has too many lines.
    BatchRows "too_many_rows" _ Usage no "create several batches, or raise batch.rows";
    /// The batch expired before this row was sent.
    BatchExpired "batch_expired" _ _ again "create a batch from the remaining rows, or give it more time";
}
"scripts/service.md#limits-and-permissions" {
    /// The text is not a valid script, or refers to an unknown name.
    ScriptInvalid "script.invalid" 400 Template no "fix the script at `line` and `column`";
    /// The inputs do not match the script's `input`.
    ScriptInput "script.input" 400 Template no "send the inputs that the script's `input` declares";
    /// The model's response does not match `output`.
    ScriptOutput "script.output" 502 Template no "retry, or declare a simpler `output`";
    /// A script, package, module or file does not exist.
    ScriptNotFound "script.not_found" 400 Template no "fix the name, or add the folder with -I";
    /// The caller may not call this function or tool.
    ScriptMethodNotAllowed "MethodNotAllowed" 403 Refused no "call a function that the script exports, or allow the call under `permissions.ai.call`";
    /// The script lacks permission to read, write, connect or start a process.
    ScriptDenied "script.denied" 403 Refused no "allow it (`--allow-…`, `scripts.allow_…`)";
    /// The script exceeded a limit.
    ScriptLimit "script.limit" 500 Template no "raise the limit that the message names";
    /// Code in JavaScript or another language threw an error.
    ScriptThrown "script.thrown" 500 Template no "fix the code, or catch the error with $catch";
    /// The model failed; the error has the code of that failure.
    ScriptModel "script.model" 502 Provider no "follow the help of the model's error";
    /// A tool failed.
    ScriptTool "script.tool" 502 Template no "catch the error with $catch, or fix what the tool calls";
    /// A template failed to render.
    ScriptTemplate "script.template" 500 Template no "fix the template at `line` and `column`";
    /// `$abort` or the server ended the run.
    ScriptAborted "script.aborted" 422 Interrupted no "see the message of the error";
}
"sql/http.md#errors" {
    /// The connection does not exist.
    SqlNotFound "sql.not_found" 404 Usage no "check `hint`, or add the connection";
    /// The table does not exist.
    SqlTableNotFound "sql.table_not_found" 404 Usage no "check `hint`, or refresh the catalogue";
    /// The name is not a valid connection name.
    SqlInvalidName "sql.invalid.name" 400 Usage no "use 1 to 64 letters, digits, `_`, `-` and `.`";
    /// The address is invalid.
    SqlInvalidUrl "sql.invalid.url" 400 Usage no "write it as the message describes";
    /// The definition of a connection is invalid.
    SqlInvalidDefinition "sql.invalid.definition" 400 Usage no "write the definition again";
    /// The question is empty.
    SqlInvalidPrompt "sql.invalid.prompt" 400 Usage no "send a question";
    /// The query cannot be accepted as an example.
    SqlInvalidAccept "sql.invalid.accept" 400 Usage no "accept a query that has a question and ran";
    /// The evaluation suite is invalid.
    SqlInvalidEval "sql.invalid.eval" 400 Usage no "fix the file at the position in the message";
    /// The search text for the history is empty.
    SqlInvalidQuery "sql.invalid.query" 422 Usage no "send `query`";
    /// `limit` is out of range.
    SqlInvalidLimit "sql.invalid.limit" 422 Usage no "send 1 to 100";
    /// `before` is neither a cursor nor a time.
    SqlInvalidBefore "sql.invalid.before" 422 Usage no "send `nextCursor` of the previous page";
    /// The dialect is unknown.
    SqlInvalidDialect "sql.invalid.dialect" 422 Usage no "use a dialect that the message lists";
    /// `timeoutSeconds` is out of range.
    SqlInvalidTimeout "sql.invalid.timeout" 422 Usage no "send 10 to 300";
    /// The row format is unknown.
    SqlInvalidFormat "sql.invalid.format" 422 Usage no "use a format that the message lists";
    /// The database is unreachable.
    SqlUnreachable "sql.unreachable" 503 Failure again "check that it is running and that the address is correct";
    /// The user or password is wrong, or the user lacks a privilege.
    SqlDenied "sql.denied" 503 Failure no "fix the user and the password of the connection";
    /// The query is not valid SQL of this dialect.
    SqlSyntax "sql.syntax" 400 Failure no "fix the query at `position`";
    /// The query uses an unknown table, column or function.
    SqlUnknownName "sql.unknown_name" 400 Failure no "check `help`, or refresh the catalogue";
    /// The query took too long.
    SqlTimeout "sql.timeout" 408 Failure no "request less, or raise sql.time_ms";
    /// The query would change data.
    SqlReadOnly "sql.read_only" 400 Failure no "send a query that only reads";
    /// The server-side check found something that a query may not do.
    SqlRefused "sql.refused" 400 Failure no "remove what the message names";
    /// The database role has more privileges than queries of others may run with.
    SqlRole "sql.role" 403 Failure no "use a read-only role, or set sql.powerful_roles";
    /// The server-side check cannot determine what the query would do.
    SqlUnjudged "sql.unjudged" 403 Failure no "allow the role to create temporary views, or set sql.second_judge";
    /// The query exceeded a limit of Quillet or of the database server.
    SqlLimit "sql.limit" 503 Failure no "request less, or raise what the message names";
    /// The query failed while it ran.
    SqlFailed "sql.failed" 503 Failure no "fix what the message names";
    /// No model is configured to write the query.
    SqlNoModel "sql.no_model" 503 Provider no "set sql.model or model.name";
    /// The model's response contains no query.
    SqlAnswer "sql.answer" 400 Provider no "rephrase the question, or use another model";
    /// The model's response was truncated.
    SqlAnswerCut "sql.answer_cut" 400 Provider no "raise the setting that the message names";
    /// A stored prompt of the text-to-SQL pipeline is invalid.
    SqlPrompt "sql.prompt" 500 Template no "fix the prompt, or delete it";
    /// The format cannot represent the rows.
    SqlExport "sql.export" 400 Failure no "use another format, or change the query";
    /// Clients may not change connections on this server.
    SqlFixed "sql.fixed" 403 _ no "set server.tokens or `[server.token.NAME]`, or server.change_databases";
    /// Databases are not configured on this server.
    SqlOff "sql.off" 503 _ no "start the server with a store";
}
"sql/README.md#files" {
    /// The file cannot be read.
    FileRead "sql.file.read" _ Failure no "check that it exists and is readable";
    /// The content of the file does not match its extension.
    FileForm "sql.file.form" _ Failure no "fix the file at the line that the message names";
    /// The rows of a CSV file differ in length.
    FileRagged "sql.file.ragged" _ Failure no "fix the row, or set sql.file_separator";
    /// The file has another encoding.
    FileEncoding "sql.file.encoding" _ Failure no "set sql.file_encoding";
    /// The file exceeds a limit.
    FileLimit "sql.file.limit" _ Failure no "raise sql.file_rows, sql.file_bytes or sql.file_row_bytes";
    /// The temporary folder has no room for the rows.
    FileRoom "sql.file.room" _ Failure no "free space in the temporary folder, or set TMPDIR";
    /// Reading was stopped.
    FileStopped "sql.file.stopped" _ Failure no "no action: the caller stopped it";
}
"sql/safety.md" {
    /// only whitespace, comments and semicolons
    GuardEmpty "sql.guard.empty" 400 Refused no "write a query";
    /// more bytes than the policy allows
    GuardLength "sql.guard.length" 400 Refused no "write a shorter query";
    /// a character that no query needs and that servers interpret differently
    GuardCharacter "sql.guard.character" 400 Refused no "remove the character";
    /// deeper nesting, or a longer chain of operators, than the policy allows
    GuardDepth "sql.guard.depth" 400 Refused no "write a flatter query";
    /// a comment that MySQL or MariaDB executes
    GuardComment "sql.guard.comment" 400 Refused no "remove the comment";
    /// a name or a string with Unicode escapes
    GuardEscape "sql.guard.escape" 400 Refused no "write the characters themselves";
    /// a command of a client program
    GuardClient "sql.guard.client" 400 Refused no "write SQL";
    /// text around the query, or no query at all
    GuardProse "sql.guard.prose" 400 Refused no "send only the query";
    /// not valid SQL of the dialect
    GuardSyntax "sql.guard.syntax" 400 Refused no "fix the query at `position`";
    /// more than one statement
    GuardStatements "sql.guard.statements" 400 Refused no "send one statement";
    /// a kind of statement that is not allowed
    GuardStatement "sql.guard.statement" 400 Refused no "write a SELECT";
    /// a change of data inside a query
    GuardWrites "sql.guard.writes" 400 Refused no "send a query that only reads";
    /// INTO, which writes a table, a file or a variable
    GuardInto "sql.guard.into" 400 Refused no "remove INTO";
    /// a clause that locks rows
    GuardLock "sql.guard.lock" 400 Refused no "remove FOR UPDATE and similar clauses";
    /// an assignment to a variable
    GuardAssignment "sql.guard.assignment" 400 Refused no "remove the assignment";
    /// a variable of the session or the server
    GuardVariable "sql.guard.variable" 400 Refused no "write the value itself";
    /// a parameter without a value
    GuardParameter "sql.guard.parameter" 400 Refused no "write the value itself";
    /// a clause that a read does not need
    GuardClause "sql.guard.clause" 400 Refused no "remove the clause";
    /// a system table or view
    GuardSystem "sql.guard.system" 400 Refused no "query the users' tables";
    /// a function that is not on the allowlist
    GuardFunction "sql.guard.function" 400 Refused no "add it to sql.functions if it only reads";
    /// an operator that is not on the allowlist
    GuardOperator "sql.guard.operator" 400 Refused no "use an operator of standard SQL";
    /// a type that gives access to the system catalogue
    GuardType "sql.guard.type" 400 Refused no "remove the cast";
    /// a table that is not in the catalogue
    GuardTable "sql.guard.table" 400 Refused no "check `help`, or refresh the catalogue";
    /// a column that none of the query's tables has
    GuardColumn "sql.guard.column" 400 Refused no "check `help`";
    /// an ambiguous table or column name
    GuardAmbiguous "sql.guard.ambiguous" 400 Refused no "qualify it with its table or schema";
    /// a query to which the row limit cannot be added
    GuardLimit "sql.guard.limit" 400 Refused no "write LIMIT as a number";
}
}

const REQUESTS: &str = "requests";
const QUOTA: &str = "insufficient_quota";

impl ErrorCode {
    fn row(self) -> &'static ErrorCodeEntry {
        &TABLE[self as usize]
    }

    /// Returns the code as it appears in error bodies.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().code
    }

    /// Returns the meaning of the code.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.row().meaning.trim()
    }

    /// Returns the suggested fix.
    #[must_use]
    pub fn help(self) -> &'static str {
        self.row().help
    }

    /// Returns the documentation page, relative to `docs`.
    #[must_use]
    pub fn page(self) -> &'static str {
        self.row().page
    }

    /// Returns the HTTP status, or 500 for a code that no route should return.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::ErrorCode;
    ///
    /// let code = ErrorCode::ModelRateLimited;
    /// assert_eq!(code.as_str(), "model.rate_limited");
    /// assert_eq!(code.status(), 502);
    /// assert!(code.retryable());
    /// ```
    #[must_use]
    pub fn status(self) -> u16 {
        self.row().status.unwrap_or(500)
    }

    /// Returns the HTTP status for the database routes, which follow table-chat's API.
    #[must_use]
    pub fn sql_status(self) -> u16 {
        self.row().sql.unwrap_or(self.status())
    }

    /// Returns the error in OpenAI's format: as the table defines it for this code, or else derived
    /// from the status.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::ErrorCode;
    ///
    /// let error = ErrorCode::ModelRateLimited.openai();
    /// assert_eq!((error.status, error.code), (429, Some("rate_limit_exceeded")));
    /// ```
    #[must_use]
    pub fn openai(self) -> OpenAi {
        let status = self.status();
        let (kind, code) = match status {
            401 => (INVALID, "invalid_api_key"),
            429 => (REQUESTS, "rate_limit_exceeded"),
            500.. => (SERVER, self.as_str()),
            _ => (INVALID, self.as_str()),
        };
        let code = Some(code);
        let usual = OpenAi { status, kind, code };
        self.row().openai.unwrap_or(usual)
    }

    /// Returns the exit code of a command that fails with this code.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{ErrorCode, Exit};
    ///
    /// assert_eq!(ErrorCode::StoreConfiguration.exit(), Exit::Usage);
    /// assert_eq!(ErrorCode::StoreConfiguration.exit() as u8, 2);
    /// ```
    #[must_use]
    pub fn exit(self) -> Exit {
        self.row().exit.unwrap_or(Exit::Failure)
    }

    /// Whether the same request may succeed when it is retried.
    #[must_use]
    pub fn retryable(self) -> bool {
        self.row().retryable
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<ErrorCode> for &'static str {
    fn from(code: ErrorCode) -> Self {
        code.as_str()
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, code: &&str) -> bool {
        self.as_str() == *code
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_code_is_one_row() {
        let codes: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), ErrorCode::ALL.len());
        assert_eq!(TABLE.len(), ErrorCode::ALL.len());
    }
}
