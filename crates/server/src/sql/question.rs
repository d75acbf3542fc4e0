//! Routes for natural-language questions: generated queries and their rows.

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_sql::chain::{EarlierQuestion, GeneratedQuery};
use quillet_sql::{RunOptions, SqlError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::query::{self, QueryResponse};
use super::served::{count, databases};
use crate::api::reply::with_chat_timeout;
use crate::api::{Id, json_body};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::RequiredJson;
use crate::request_context::RequestContext;

/// A question.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuestionBody {
    /// The question, in any language.
    prompt: String,
    /// Whether to run the query.
    #[serde(default)]
    run: bool,
    /// Earlier questions of the conversation and their queries, latest last. The question may refer
    /// to them.
    #[serde(default)]
    previous: Vec<PreviousQuestion>,
    /// The timeout of the query in seconds, from 10 to 300.
    timeout_seconds: Option<u64>,
}

/// An earlier question of the conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Earlier)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviousQuestion {
    /// The question.
    question: String,
    /// The query generated for it.
    sql: String,
}

impl From<PreviousQuestion> for EarlierQuestion {
    fn from(PreviousQuestion { question, sql }: PreviousQuestion) -> Self {
        EarlierQuestion { question, sql }
    }
}

/// The query, details of its generation, and its rows if requested.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Answered)]
pub(crate) struct QuestionResponse<'a> {
    /// `generatedSql`, `explanation`, `exportFormat`, `selectedTables`, `fallbackUsed`,
    /// `fallbackReason`, `omittedTables`, `phases`, `tokens`, `repairs`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    generated: &'a GeneratedQuery,
    /// `sql`, `result` and `executionTimeMs`, as in the response of `POST …/query`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    ran: Option<QueryResponse<'a>>,
}

/// Returns the generated query with its rows as JSON, for clients that use a database as a model.
pub(crate) async fn answer(
    call: &RequestContext,
    name: &str,
    question: &str,
) -> Result<String, ApiError> {
    let databases = databases(call)?;
    let options = RunOptions::default();
    let answering = async {
        let asked = databases.ask(name, question, &options).await;
        asked.map_err(ApiError::from)
    };
    let (generated, ran) = with_chat_timeout(&call.app, answering).await?;
    count(call, ran.execution_ms);
    let answered = QuestionResponse {
        generated: &generated,
        ran: Some(QueryResponse::new(&ran)),
    };
    serde_json::to_string(&answered).map_err(|error| {
        let message = format!("cannot serialize the answer of the database: {error}");
        problem(ErrorCode::ServerDefect, message)
    })
}

/// Generates the query for a question, and runs it only with `run`
#[utoipa::path(post, path = "/dbs/{name}/query/natural", operation_id = "ask_database", tag = "databases",
    params(("name" = String, Path)), request_body = QuestionBody, responses(
    (status = 200, body = QuestionResponse),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "The question is empty, or the model returned no query that may run"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 408, body = ProblemDetails, content_type = "application/problem+json", description = "The query timed out"),
    (status = 422, body = ProblemDetails, content_type = "application/problem+json", description = "Invalid body"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "No model is configured, the model does not answer, or the database cannot be reached"),
))]
pub(crate) async fn ask(
    call: RequestContext,
    Id(name): Id,
    RequiredJson(body): RequiredJson<QuestionBody>,
) -> Result<Response, ApiError> {
    let databases = databases(&call)?;
    // Check this first, so that an invalid timeout does not cost a model call.
    let limits = query::limits(databases.config(), None, body.timeout_seconds)?;
    let options = RunOptions {
        limits: Some(limits),
        previous: body
            .previous
            .into_iter()
            .map(EarlierQuestion::from)
            .collect(),
        ..RunOptions::default()
    };
    let answering = async {
        let answered: Result<_, SqlError> = if body.run {
            let asked = databases.ask(&name, &body.prompt, &options).await;
            asked.map(|(generated, ran)| (generated, Some(ran)))
        } else {
            let asked = databases.generate_with(&name, &body.prompt, &options).await;
            asked.map(|generated| (generated, None))
        };
        answered.map_err(ApiError::from)
    };
    let (generated, ran) = with_chat_timeout(&call.app, answering).await?;
    if let Some(ran) = &ran {
        count(&call, ran.execution_ms);
    }
    json_body(&QuestionResponse {
        generated: &generated,
        ran: ran.as_ref().map(QueryResponse::new),
    })
}
