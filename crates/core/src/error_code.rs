//! The table of errors: every stable code with what follows from it. Servers, the command line and
//! the documentation (`docs/errors.md`) read it, so one failure has one status and one exit code
//! wherever it is met.
//!
//! A row is `Variant "code" STATUS EXIT RETRY "mend"`. STATUS is the HTTP status, `_` for what no
//! route answers with; EXIT the exit code of the command line, `_` for what ends no command; RETRY
//! whether the same request may succeed when sent again. Where clients of another wire expect
//! something else, the row says so behind it: `openai STATUS TYPE CODE` in OpenAI's shape, `sql
//! STATUS` on the routes of databases. The codes of `/v1/response`, which are Chat Shell's, are rows
//! of their own.

use std::fmt;

use serde::{Serialize, Serializer};

/// Exit codes of the command line, besides 0 for success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Something failed.
    Failure = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// A template or a script is broken, or a variable is missing or wrong.
    Template = 3,
    /// The model did not answer.
    Provider = 4,
    /// It was refused by a permission.
    Refused = 5,
    /// Interrupted: what a shell shows for SIGINT.
    Interrupted = 130,
    /// The reader of the output left: what a shell shows for SIGPIPE.
    ClosedPipe = 141,
}

/// An error in OpenAI's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAi {
    /// The HTTP status, of which the SDKs make typed errors.
    pub status: u16,
    /// `error.type`.
    pub kind: &'static str,
    /// `error.code`; none where the provider's own is passed on.
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
        /// A stable code of an error. Codes never change; what a release adds is a new variant with
        /// its row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[doc = concat!("`", $code, "`:", $meaning)] $name,)*)*
        }

        impl ErrorCode {
            /// All of them, in the order of the documentation.
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
    /// The body is not JSON, or does not fit.
    RequestBody "request.body" 400 _ no "mend the body at `line` and `column`" sql 422;
    /// The path cannot be read.
    RequestPath "request.path" 400 _ no "encode the path as UTF-8";
    /// The parameters behind `?` do not fit.
    RequestQuery "request.query" 422 _ no "send what /openapi.json says of this route";
    /// There is no `Host`, or more than one.
    RequestHost "request.host" 400 _ no "send the header `Host: NAME:PORT` once";
    /// What was given is not a revision.
    RequestRevision "request.revision" 400 _ no "send a revision, or `latest`";
    /// The body came too slowly.
    RequestSlow "request.slow" 408 _ again "send it faster, or raise server.body_ms";
    /// The body is larger than it may be.
    RequestTooLarge "request.too_large" 413 _ no "send less, or raise server.body_bytes (agent.body_bytes)";
    /// The body is encoded.
    RequestEncoding "request.encoding" 415 _ no "send it as gzip, or without Content-Encoding";
    /// The headers are larger than 64 KiB.
    RequestHeaders "request.headers" 431 _ no "send fewer or shorter headers";
    /// There is no such route.
    RouteUnknown "route.unknown" 404 _ no "GET /openapi.json lists the routes";
    /// The route does not take this method.
    RouteMethod "route.method" 405 _ no "use a method that the header `Allow` names";
    /// There is no token.
    AuthMissing "auth.missing" 401 _ no "send `Authorization: Bearer TOKEN`";
    /// The token is not one of this service's.
    AuthRefused "auth.refused" 401 _ no "send a token of server.tokens, or the secret of a table `[server.token.NAME]`";
    /// The token does not have the right that this needs.
    AuthForbidden "auth.forbidden" 403 Refused no "use a token that has the right for that id";
    /// A page of another origin asks.
    BrowserOrigin "browser.origin" 403 _ no "add the page's origin to server.origins";
    /// `Host` names something that is not this server.
    BrowserHost "browser.host" 403 _ no "add the name to server.hosts";
    /// More requests than `server.rate_limit` permits.
    RateLimited "rate.limited" 429 _ again "wait as long as `Retry-After` says";
    /// The revision that the request wants was not seen in time.
    RevisionUnseen "revision.unseen" 409 _ again "ask again, or write the definition again";
    /// The store did not say in time whether it has something newer.
    RevisionTimeout "revision.timeout" 503 _ again "ask again, or without min_revision";
    /// The answer took longer than `server.chat_ms`.
    ChatTimeout "chat.timeout" 503 _ again "ask for a stream";
    /// The server is shutting down.
    ServerStopping "server.stopping" 503 _ again "ask again; another replica answers";
    /// The answer has no JSON form.
    ServerAnswer "server.answer" 500 _ no "keep values shallower than JSON permits";
    /// A defect of this server.
    ServerDefect "server.defect" 500 _ no "report it with `request_id` and the log";
    /// The message is none of the Model Context Protocol.
    McpRequest "mcp.request" 400 _ no "send what the protocol's revision says";
    /// The port cannot be opened.
    ServerBind "server.bind" _ Failure again "stop what listens there, or set server.listen";
    /// Others could call without a token.
    ServerOpen "server.open" _ Usage no "set server.tokens or `[server.token.NAME]`, or listen on 127.0.0.1";
    /// The prefix is no path.
    ServerPrefix "server.prefix" _ Usage no "set server.prefix to `/NAME`";
    /// An entry of `server.hosts` is no name.
    ServerHost "server.host" _ Usage no "write NAME, NAME:PORT, *.NAME or *";
    /// A token is empty, or cannot stand in a header.
    ServerToken "server.token" _ Usage no "take tokens of plain ASCII";
}
"prompts.md" {
    /// There is no definition of that id.
    NotFound "not_found" 404 Failure no "mind `hint`, or list the ids" openai 404 INVALID "model_not_found";
    /// The definition is broken.
    DefinitionInvalid "definition.invalid" 400 Template no "mend what `diagnostics` names";
    /// Variables do not fit the prompt's parameters.
    VariablesInvalid "variables.invalid" 400 Template no "mend what `problems` names";
    /// A variable is not there.
    RenderMissingVariable "render.missing_variable" 400 Template no "give what `missing` names";
    /// A function is not there.
    RenderUnknownFunction "render.unknown_function" 400 Template no "mind `hint`, or register the tool";
    /// A tool that the template calls is registered and broken.
    RenderBrokenTool "render.broken_tool" 400 Template no "mend the tool's definition";
    /// A variable would begin a message where none may.
    RenderStrictVariable "render.strict_variable" 400 Template no "take the line that begins a message out of the value";
    /// A call could not be made: a name that is computed names no usable tool, or a script cannot be read.
    RenderCallFailed "render.call_failed" 500 Template no "mend the name, or the tool or script that it names";
    /// The template cannot be evaluated with these values.
    RenderExecution "render.execution" 500 Template no "mend the template or the value at `line` and `column`";
    /// A render took longer than `render.time_ms`.
    RenderTimeout "render.timeout" 503 Template again "call faster tools, or raise render.time_ms";
    /// A render reached another limit.
    RenderLimit "render.limit" 500 Template no "raise the setting of `[render]` that the message names";
    /// Templates in requests are switched off.
    RenderInlineTemplates "render.inline_templates" 403 _ no "set server.inline_templates, or store the prompt";
}
"stores.md" {
    /// The store cannot be reached.
    StoreUnavailable "store.unavailable" 503 Failure again "see that the store runs and that store.url is right";
    /// The store refused: rights, read-only, full.
    StoreRefused "store.refused" 500 Refused no "give the user of store.url the rights, or the store room";
    /// The address or a setting of the store is wrong.
    StoreConfiguration "store.configuration" 500 Usage no "mend the setting that the message names";
    /// What is stored is not what it should be.
    StoreCorrupt "store.corrupt" 500 Failure no "write the entry that the message names again";
}
"history.md" {
    /// Somebody else has written since: nothing was changed.
    HistoryConflict "history.conflict" 412 Failure no "read it again, and write what is wanted on top of that";
    /// There is no such version.
    HistoryVersion "history.version" 404 Failure no "ask for a version that the message or the list of versions names";
    /// There is no such label.
    HistoryLabel "history.label" 404 Failure no "use a label that the message names, or set it";
    /// A label's name or target cannot be stored, or an id's mark cannot be read.
    HistoryMark "history.mark" 400 Usage no "write ID@LABEL, ID@NUMBER or ID@sha256:DIGITS";
    /// The label is protected, and the caller may not promote.
    HistoryProtected "history.protected" 403 Refused no "use a token that has the right promote";
    /// The store keeps no history.
    HistoryNone "history.none" 501 Failure no "use a store of memory:, dir:, sqlite: or redis:";
    /// A file of histories cannot be read.
    HistoryImport "history.import" 400 Failure no "import a file that quillet export has written";
    /// The definition is broken, and nobody said that this is all right.
    HistoryBroken "history.broken" 422 Template no "mend what the diagnostics name, or write it with ?broken=allow";
}
"doors.md" {
    /// A client that fills in variables itself asks for a prompt that cannot be given to it exactly.
    DoorInexact "door.inexact" 422 Template no "mend what the message names, or let the server fill it in: `POST /api/render/prompts/ID`";
    /// What a client of another prompt service sends does not fit, or wishes for what is not here.
    DoorRequest "door.request" 400 _ no "send what the message asks for";
}
"install.md" {
    /// This build was made without the part.
    FeatureMissing "build.feature_missing" 501 Usage no "build with the feature that the message names, or take the released binary";
}
"providers.md" {
    /// The provider cannot be reached.
    ModelConnect "model.connect" 502 Provider again "see that the provider's address is right and reachable" openai 502 SERVER "model.connect" sql 503;
    /// The provider did not answer in time.
    ModelTimeout "model.timeout" 502 Provider again "ask again, or raise model.first_byte_ms, model.idle_ms, model.total_ms" openai 504 SERVER "timeout" sql 503;
    /// The provider asks to slow down.
    ModelRateLimited "model.rate_limited" 502 Provider again "wait as long as `Retry-After` says" openai 429 REQUESTS "rate_limit_exceeded" sql 503;
    /// The provider's or the model's rate is used up for longer than the request can wait.
    ModelOverRate "model.over_rate" 429 Provider again "wait as long as `Retry-After` says, or raise model.requests_per_minute or model.tokens_per_minute" openai 429 REQUESTS "rate_limit_exceeded" sql 429;
    /// The account has nothing left.
    ModelQuota "model.quota" 502 Provider no "pay, or use another key" openai 429 QUOTA "insufficient_quota" sql 503;
    /// The provider has too much to do.
    ModelOverloaded "model.overloaded" 502 Provider again "ask again later, or another model" openai 503 SERVER "overloaded" sql 503;
    /// The provider failed.
    ModelProvider "model.provider" 502 Provider again "ask again; the message has what the provider said" openai 502 SERVER "model.provider" sql 503;
    /// No key, or a wrong one.
    ModelAuth "model.auth" 502 Provider no "set the provider's key (`quillet keys set`)" openai 401 INVALID "invalid_api_key" sql 503;
    /// The key may not do this.
    ModelForbidden "model.forbidden" 502 Provider no "use a key with the right to this model" openai 403 INVALID "forbidden" sql 503;
    /// The provider has no such model.
    ModelNotFound "model.not_found" 502 Provider no "name one of `quillet models`" openai 404 INVALID "model_not_found" sql 503;
    /// The conversation does not fit into the model's window.
    ModelContextLength "model.context_length" 502 Provider no "send less, or take a model with a larger window" openai 400 INVALID "context_length_exceeded" sql 503;
    /// The provider's filter refused the request.
    ModelContentFilter "model.content_filter" 502 Provider no "word the request in another way" openai 400 INVALID "content_filter" sql 503;
    /// The provider refused the request.
    ModelRefused "model.refused" 502 Provider no "mend what the provider's message names" openai 400 INVALID _ sql 503;
    /// The model wrote a call that cannot be read.
    ModelMalformedToolCall "model.malformed_tool_call" 502 Provider again "ask again" openai 502 SERVER "model.malformed_tool_call" sql 503;
    /// The answer could not be understood.
    ModelProtocol "model.protocol" 502 Provider no "see that the address is one of this wire" openai 502 SERVER "model.protocol" sql 503;
    /// The stream ended in the middle.
    ModelCut "model.cut" 502 Provider no "ask again; what came is not whole" openai 502 SERVER "model.cut" sql 503;
    /// Nothing is configured that could answer.
    ModelConfiguration "model.configuration" 503 Provider no "set model.name and the provider's key" openai 503 SERVER "model.configuration";
}
"budgets.md" {
    /// A budget of tokens, money or time has too little left for a call of a model.
    BudgetExceeded "budget.exceeded" 429 Provider no "wait for the next day in UTC where it is a budget of days, ask for less, or raise the budget that the message names" openai 429 QUOTA "insufficient_quota" sql 429;
    /// A budget of money limits a model whose price is not known.
    BudgetUnpriced "budget.unpriced" 403 Provider no "ask a model whose price is known, or set budget.unpriced_usd" openai 403 INVALID "budget.unpriced" sql 403;
    /// The books of the budgets cannot be had, and budget.alone is off.
    BudgetUnavailable "budget.unavailable" 503 Provider again "ask again when the store answers, or set budget.alone" openai 503 SERVER "budget.unavailable" sql 503;
}
"tools.md" {
    /// There is no tool of that name.
    ToolUnknown "tool.unknown" _ _ no "name one that exists";
    /// The arguments do not fit the tool's schema.
    ToolArguments "tool.arguments" _ _ no "give what the schema says";
    /// The call took longer than it may.
    ToolTimeout "tool.timeout" _ _ again "raise the tool's limit on time";
    /// The address or the tool is not permitted.
    ToolRefused "tool.refused" _ _ no "permit it in `[tools]`";
    /// No connection, or it broke.
    ToolTransport "tool.transport" _ _ again "see that the tool's address is right and reachable";
    /// The remote side answered with an error.
    ToolRemote "tool.remote" _ _ no "see what the remote side says";
    /// The answer is larger than it may be.
    ToolTooLarge "tool.too_large" _ _ no "ask for less, or raise the limit on its answers";
    /// The answer could not be understood.
    ToolProtocol "tool.protocol" _ _ no "see that the address speaks the protocol of the definition";
    /// A built-in tool is not set up.
    ToolNotConfigured "tool.not_configured" _ _ no "set what the message names";
    /// An option of a built-in tool is wrong.
    ToolOption "tool.option" _ _ no "mend the option that the message names";
    /// A turn of the model makes more calls than it may.
    ToolTooMany "tool.too_many" _ _ no "none: the model is told";
    /// The model makes the same call again and again.
    ToolRepeated "tool.repeated" _ _ no "none: the model is told";
    /// The tool broke down in the middle of a call.
    ToolPanic "tool.panic" _ _ no "report it with the log";
}
"agent/response.md" {
    /// No agents are set up in this server.
    AgentConfiguration "agent.configuration" 503 _ no "set agent.sessions and what the page says";
    /// A run of this id is on its way.
    AgentRunning "agent.running" 409 _ no "choose another X-Request-ID";
    /// The process or the key has as many runs as it may.
    AgentLimit "agent.limit" 429 _ again "wait as long as `Retry-After` says";
}
"agent/durable.md#errors" {
    /// There is no durable run of that id, or it is somebody else's.
    DurableUnknown "run.unknown" 404 Usage no "name one that `GET /v1/runs` (`quillet runs list`) lists";
    /// The run or the call waits for nobody, or somebody else has decided.
    DurableNotWaiting "run.not_waiting" 409 Failure no "see what waits: `GET /v1/runs/ID` (`quillet runs show ID`)";
    /// The run has no such step.
    DurableStep "run.step" 400 Usage no "name a step that `quillet runs show ID` lists";
    /// A script that is run again did something else than its journal says.
    DurableDiverged "run.diverged" 500 Failure no "see what it did, `quillet runs show ID`, and what has changed since: a prompt that it calls, its models' abilities, this program; begin it anew, or fork it at a step before";
}
"agent/response.md#errors" {
    /// No key, or a wrong one.
    RunAuth "auth" 401 Provider no "set the provider's key";
    /// The key may not do this.
    RunForbidden "forbidden" 403 Provider no "use a key with the right to this model";
    /// The provider or this server asks to slow down.
    RunRateLimit "rate_limit" 429 Provider again "wait as long as `retry_after_s` says";
    /// The account has nothing left.
    RunQuota "quota" 429 Provider no "pay, or use another key";
    /// A budget of tokens, money or time has too little left.
    RunBudget "budget_exceeded" 429 Provider no "wait as long as `retry_after_s` says, or raise the budget that the message names";
    /// There is no such model or agent.
    RunModelNotFound "model_not_found" 404 Usage no "name one that exists";
    /// The provider refused the request, or it names a tool or skill that is not there.
    RunInvalidRequest "invalid_request" 400 Usage no "mend what the message names";
    /// The conversation does not fit into the model's window.
    RunContextLength "context_length" 400 Provider no "send less, or take a model with a larger window";
    /// The provider's filter refused the request.
    RunContentFilter "content_filter" 400 Provider no "word the request in another way";
    /// The provider has too much to do.
    RunOverloaded "overloaded" 503 Provider again "ask again later, or another model";
    /// The provider, or the run, took longer than it may.
    RunTimeout "timeout" 504 Provider again "ask again, or raise agent.run_ms";
    /// The provider, or a store, failed.
    RunServerError "server_error" 502 Failure again "ask again; `message` has the cause";
    /// The provider was not reached.
    RunNetwork "network" 502 Provider again "see that the provider's address is reachable";
    /// The provider broke off.
    RunStreamTruncated "stream_truncated" 502 Provider no "ask again; what came is not whole";
    /// The model wrote a call that cannot be read.
    RunMalformedToolCall "malformed_tool_call" 502 Provider again "ask again";
    /// The replica that ran the answer is gone, or its log cannot be read.
    RunInterrupted "interrupted" _ _ again "ask again";
    /// The request was cancelled.
    RunCancelled "cancelled" 409 Interrupted no "ask again if that was not meant";
    /// A defect of this server.
    RunInternalError "internal_error" 500 Failure no "report it with the log";
}
"openai.md#errors" {
    /// A value is not one of those that there are.
    InvalidValue "invalid_value" 400 _ no "mend what `param` names";
    /// A value is of another type.
    InvalidType "invalid_type" 400 _ no "mend what `param` names";
    /// The body is not JSON.
    InvalidJson "invalid_json" 400 _ no "mend the body at the place that the message names";
    /// A parameter is not served here.
    UnsupportedParameter "unsupported_parameter" 400 _ no "leave out what `param` names";
    /// The encrypted reasoning is none that was given out.
    InvalidEncryptedContent "invalid_encrypted_content" 400 _ no "send back what came, unchanged";
    /// There is no earlier response of that id.
    PreviousResponseNotFound "previous_response_not_found" 404 _ no "send the conversation in `input`";
    /// There is no response of that id.
    ResponseNotFound "response_not_found" 404 _ no "ask for one that was stored";
}
"batches.md#errors" {
    /// There is no file of that id, or it is somebody else's.
    FileNotFound "file_not_found" 404 _ no "name one of `GET /v1/files`";
    /// A file is larger than files may be.
    FileTooLarge "file_too_large" 413 _ no "send several files, or raise batch.file_bytes";
    /// A line of a file is longer than lines may be.
    LineTooLong "line_too_long" 413 Usage no "shorten the line that the message names, or raise batch.line_bytes";
    /// A batch that is not done yet reads from this file.
    FileInUse "file_in_use" 409 _ again "cancel the batch, or wait for its end";
    /// There is no batch of that id, or it is somebody else's.
    BatchNotFound "batch_not_found" 404 _ no "name one of `GET /v1/batches`";
    /// The batch has come to its end.
    BatchEnded "batch_ended" 409 _ no "read its files; nothing is left to cancel";
    /// This server keeps no batches.
    BatchConfiguration "batch.configuration" 503 _ no "serve with `quillet serve`";
    /// A line of the input is no JSON object of a request.
    BatchLine "invalid_json_line" _ Usage no "write one JSON object on each line";
    /// Two lines of the input have the same `custom_id`.
    BatchDuplicate "duplicate_custom_id" _ Usage no "give each line a `custom_id` of its own";
    /// A line of the input is for another path than its batch.
    BatchUrl "mismatched_url" _ Usage no "set `url` to the endpoint of the batch";
    /// A line of the input lacks something, or has it in another form.
    BatchMember "invalid_request_line" _ Usage no "mend what `param` names";
    /// The input has no lines.
    BatchEmpty "empty_file" _ Usage no "write one request on each line";
    /// The input has more lines than batches may have.
    BatchRows "too_many_rows" _ Usage no "make several batches, or raise batch.rows";
    /// The time of a batch was over before this row was asked.
    BatchExpired "batch_expired" _ _ again "make a batch of the rows that are left, or give it more time";
}
"scripts/service.md#bounds-and-rights" {
    /// The text is no script, or names something that is not there.
    ScriptInvalid "script.invalid" 400 Template no "mend the script at `line` and `column`";
    /// Inputs do not fit.
    ScriptInput "script.input" 400 Template no "give what the script's `input` says";
    /// The model's answer does not have the form that `output` asks for.
    ScriptOutput "script.output" 502 Template no "ask again, or ask for a simpler form";
    /// A script, package, module or file was not found.
    ScriptNotFound "script.not_found" 400 Template no "mend the name, or add the folder with -I";
    /// Something was called that the caller may not call.
    ScriptMethodNotAllowed "MethodNotAllowed" 403 Refused no "call what the script exports";
    /// Reading, writing, starting or connecting that nobody allowed.
    ScriptDenied "script.denied" 403 Refused no "allow it (`--allow-…`, `scripts.allow_…`)";
    /// A limit of scripts was reached.
    ScriptLimit "script.limit" 500 Template no "raise the limit that the message names";
    /// JavaScript or another language threw.
    ScriptThrown "script.thrown" 500 Template no "mend the code, or catch it with $catch";
    /// The model failed; its own code says how.
    ScriptModel "script.model" 502 Provider no "do what the model's failure says";
    /// A tool failed.
    ScriptTool "script.tool" 502 Template no "catch it with $catch, or mend what the tool calls";
    /// A template did not render.
    ScriptTemplate "script.template" 500 Template no "mend the template at `line` and `column`";
    /// `$abort`, or whoever runs the script, ended it.
    ScriptAborted "script.aborted" 422 Interrupted no "see what the script says";
}
"sql/http.md#errors" {
    /// No such connection.
    SqlNotFound "sql.not_found" 404 Usage no "mind `hint`, or add the connection";
    /// No such table.
    SqlTableNotFound "sql.table_not_found" 404 Usage no "mind `hint`, or read the catalogue again";
    /// The name cannot be one of a database.
    SqlInvalidName "sql.invalid.name" 400 Usage no "take 1 to 64 letters, digits, `_`, `-` and `.`";
    /// The address cannot be used.
    SqlInvalidUrl "sql.invalid.url" 400 Usage no "write it as the message says";
    /// The definition of a connection cannot be read.
    SqlInvalidDefinition "sql.invalid.definition" 400 Usage no "write it again";
    /// The question is empty.
    SqlInvalidPrompt "sql.invalid.prompt" 400 Usage no "ask something";
    /// The query cannot be accepted as an example.
    SqlInvalidAccept "sql.invalid.accept" 400 Usage no "accept one that has a question and ran";
    /// A suite of questions cannot be read.
    SqlInvalidEval "sql.invalid.eval" 400 Usage no "mend the file at the place that the message names";
    /// What history is searched for is empty.
    SqlInvalidQuery "sql.invalid.query" 422 Usage no "send `query`";
    /// `limit` is outside of its bounds.
    SqlInvalidLimit "sql.invalid.limit" 422 Usage no "send 1 to 100";
    /// `before` is neither a cursor nor a time.
    SqlInvalidBefore "sql.invalid.before" 422 Usage no "send `nextCursor` of the page before";
    /// There is no such dialect.
    SqlInvalidDialect "sql.invalid.dialect" 422 Usage no "name one of those in the message";
    /// `timeoutSeconds` is outside of its bounds.
    SqlInvalidTimeout "sql.invalid.timeout" 422 Usage no "send 10 to 300";
    /// There is no such form of rows.
    SqlInvalidFormat "sql.invalid.format" 422 Usage no "name one of those in the message";
    /// The database cannot be reached.
    SqlUnreachable "sql.unreachable" 503 Failure again "see that it runs and that the address is right";
    /// The user or the password is wrong, or the user may not see this.
    SqlDenied "sql.denied" 503 Failure no "mend the user and the password of the connection";
    /// The text is not SQL of this dialect.
    SqlSyntax "sql.syntax" 400 Failure no "mend the query at `position`";
    /// The query names what is not there.
    SqlUnknownName "sql.unknown_name" 400 Failure no "mind `help`, or read the catalogue again";
    /// The query took longer than it may.
    SqlTimeout "sql.timeout" 408 Failure no "ask for less, or raise sql.time_ms";
    /// The query would change something.
    SqlReadOnly "sql.read_only" 400 Failure no "read only";
    /// The server says that the query does what none may.
    SqlRefused "sql.refused" 400 Failure no "leave out what the message names";
    /// The role may do more than one that runs queries of others should.
    SqlRole "sql.role" 403 Failure no "use a role that may only read, or set sql.powerful_roles";
    /// The server could not say what the query would do.
    SqlUnjudged "sql.unjudged" 403 Failure no "let the role make temporary views, or set sql.second_judge";
    /// A limit of ours or of the server was met.
    SqlLimit "sql.limit" 503 Failure no "ask for less, or raise what the message names";
    /// The query failed while it ran.
    SqlFailed "sql.failed" 503 Failure no "mend what the message names";
    /// No model is named that could write the query.
    SqlNoModel "sql.no_model" 503 Provider no "set sql.model or model.name";
    /// The model's answer has no query.
    SqlAnswer "sql.answer" 400 Provider no "ask in another way, or another model";
    /// The model's answer was cut.
    SqlAnswerCut "sql.answer_cut" 400 Provider no "raise the setting that the message names";
    /// A stored prompt of the chain is broken.
    SqlPrompt "sql.prompt" 500 Template no "mend the prompt, or remove it";
    /// The form cannot hold the rows.
    SqlExport "sql.export" 400 Failure no "take another form, or change the query";
    /// Clients may not change connections here.
    SqlFixed "sql.fixed" 403 _ no "set server.tokens or `[server.token.NAME]`, or server.change_databases";
    /// No databases are set up in this server.
    SqlOff "sql.off" 503 _ no "start it with a store";
}
"sql/README.md#files" {
    /// A file cannot be read.
    FileRead "sql.file.read" _ Failure no "see that it is there and may be read";
    /// A file does not have the form that its name says.
    FileForm "sql.file.form" _ Failure no "mend the file at the line that the message names";
    /// Rows of a CSV differ in length.
    FileRagged "sql.file.ragged" _ Failure no "mend the row, or set sql.file_separator";
    /// A file is written in another encoding.
    FileEncoding "sql.file.encoding" _ Failure no "set sql.file_encoding";
    /// A file is larger than it may be.
    FileLimit "sql.file.limit" _ Failure no "raise sql.file_rows, sql.file_bytes or sql.file_row_bytes";
    /// There is no room for its rows.
    FileRoom "sql.file.room" _ Failure no "make room among the temporary files";
    /// Reading was stopped.
    FileStopped "sql.file.stopped" _ Failure no "none: somebody stopped it";
}
"sql/safety.md" {
    /// nothing but blanks, comments and semicolons
    GuardEmpty "sql.guard.empty" 400 Refused no "write a query";
    /// more bytes than the policy allows
    GuardLength "sql.guard.length" 400 Refused no "write a shorter query";
    /// a character that no query needs and that servers read in different ways
    GuardCharacter "sql.guard.character" 400 Refused no "take the character out";
    /// deeper nesting, or a longer chain of operators, than the policy allows
    GuardDepth "sql.guard.depth" 400 Refused no "write a flatter query";
    /// a comment that MySQL or MariaDB runs
    GuardComment "sql.guard.comment" 400 Refused no "take the comment out";
    /// a name or a text with Unicode escapes
    GuardEscape "sql.guard.escape" 400 Refused no "write the characters themselves";
    /// a command of a client program
    GuardClient "sql.guard.client" 400 Refused no "write SQL";
    /// words around the query, or no query at all
    GuardProse "sql.guard.prose" 400 Refused no "send the query alone";
    /// it cannot be read as SQL of the dialect
    GuardSyntax "sql.guard.syntax" 400 Refused no "mend the query at `position`";
    /// more than one statement
    GuardStatements "sql.guard.statements" 400 Refused no "send one statement";
    /// a statement of a kind that may not pass
    GuardStatement "sql.guard.statement" 400 Refused no "write a SELECT";
    /// data would be changed inside of a query
    GuardWrites "sql.guard.writes" 400 Refused no "read only";
    /// INTO writes a table, a file or a variable
    GuardInto "sql.guard.into" 400 Refused no "leave out INTO";
    /// rows would be locked
    GuardLock "sql.guard.lock" 400 Refused no "leave out FOR UPDATE and its kin";
    /// a variable would be set
    GuardAssignment "sql.guard.assignment" 400 Refused no "leave out the assignment";
    /// a variable of the session or the server
    GuardVariable "sql.guard.variable" 400 Refused no "write the value";
    /// a parameter that nobody gives a value
    GuardParameter "sql.guard.parameter" 400 Refused no "write the value";
    /// a clause that a read does not need
    GuardClause "sql.guard.clause" 400 Refused no "leave out the clause";
    /// a relation of the system
    GuardSystem "sql.guard.system" 400 Refused no "ask for tables of the users";
    /// a function that is not on the list
    GuardFunction "sql.guard.function" 400 Refused no "add it to sql.functions if it only reads";
    /// an operator that is not on the list
    GuardOperator "sql.guard.operator" 400 Refused no "use an operator of standard SQL";
    /// a type that looks into the system catalogue
    GuardType "sql.guard.type" 400 Refused no "leave out the cast";
    /// a table that is not in the catalogue
    GuardTable "sql.guard.table" 400 Refused no "mind `help`, or read the catalogue again";
    /// a column that its tables do not have
    GuardColumn "sql.guard.column" 400 Refused no "mind `help`";
    /// a table or a column that can mean more than one
    GuardAmbiguous "sql.guard.ambiguous" 400 Refused no "name its table, or its schema";
    /// a LIMIT that cannot be set
    GuardLimit "sql.guard.limit" 400 Refused no "write LIMIT as a number";
}
}

const REQUESTS: &str = "requests";
const QUOTA: &str = "insufficient_quota";

impl ErrorCode {
    fn row(self) -> &'static ErrorCodeEntry {
        &TABLE[self as usize]
    }

    /// The code itself, as in error bodies.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().code
    }

    /// When it is given.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.row().meaning.trim()
    }

    /// What mends it.
    #[must_use]
    pub fn help(self) -> &'static str {
        self.row().help
    }

    /// The page of the documentation, below `docs`.
    #[must_use]
    pub fn page(self) -> &'static str {
        self.row().page
    }

    /// The HTTP status. What no route is meant to answer with would be a defect of ours there.
    #[must_use]
    pub fn status(self) -> u16 {
        self.row().status.unwrap_or(500)
    }

    /// Whether routes answer with it.
    #[must_use]
    pub fn is_answered(self) -> bool {
        self.row().status.is_some()
    }

    /// The HTTP status on the routes of databases, whose clients are table-chat's.
    #[must_use]
    pub fn sql_status(self) -> u16 {
        self.row().sql.unwrap_or(self.status())
    }

    /// The error in OpenAI's shape: what the row says, else what follows from the status.
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

    /// The exit code of the command line, where it ends a command.
    #[must_use]
    pub fn exit(self) -> Exit {
        self.row().exit.unwrap_or(Exit::Failure)
    }

    /// Whether commands end with it.
    #[must_use]
    pub fn ends_commands(self) -> bool {
        self.row().exit.is_some()
    }

    /// Whether the same request may succeed when sent again.
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
