//! `GET /api/public/v2/prompts`: lists prompts.

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::history::LATEST;
use quillet_core::store::{EntryKey, EntryKind};
use quillet_host::definitions::Permission;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::created;
use super::create::wrong;
use crate::api::client_fill::{PromptView, StoredPrompt, VersionRequest, name_of};
use crate::api::json_body;
use crate::error::ApiError;
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// The maximum number of prompts per page.
const MOST: usize = 100;

/// Query parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    name: Option<String>,
    label: Option<String>,
    tag: Option<String>,
    page: Option<String>,
    limit: Option<String>,
    from_updated_at: Option<String>,
    to_updated_at: Option<String>,
}

/// Filters in addition to the name.
struct PromptFilter {
    label: Option<String>,
    tag: Option<String>,
    from: Option<jiff::Timestamp>,
    to: Option<jiff::Timestamp>,
}

/// Lists prompts by name, with their versions, labels and tags.
pub(super) async fn list(
    call: RequestContext,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<Response, ApiError> {
    let page = whole("page", query.page.as_deref(), 1)?;
    let limit = whole("limit", query.limit.as_deref(), 10)?;
    if limit > MOST {
        return Err(wrong("limit", "must be at most 100"));
    }
    let filter = PromptFilter {
        label: query.label,
        tag: query.tag,
        from: time("fromUpdatedAt", query.from_updated_at.as_deref())?,
        to: time("toUpdatedAt", query.to_updated_at.as_deref())?,
    };
    let ids = ids(&call, query.name.as_deref()).await?;
    let first = (page - 1).saturating_mul(limit);
    let (mut data, mut total) = (Vec::new(), 0);
    for id in &ids {
        // Without a filter, only the prompts on the page are loaded.
        let is_on_page = (first..first.saturating_add(limit)).contains(&total);
        if !is_on_page && !filter.is_some() {
            total += 1;
            continue;
        }
        let Some(one) = row(&call, id, &filter).await? else {
            continue;
        };
        total += 1;
        if is_on_page {
            data.push(one);
        }
    }
    let pages = total.div_ceil(limit);
    json_body(&json!({
        "data": data,
        "meta": {"page": page, "limit": limit, "totalItems": total, "totalPages": pages},
    }))
}

/// Returns the ids of the prompts that the caller may read, sorted by name.
async fn ids(call: &RequestContext, name: Option<&str>) -> Result<Vec<String>, ApiError> {
    let keys = call
        .app
        .service
        .catalogue()
        .store()
        .keys(EntryKind::Prompt)
        .await;
    let keys = keys.map_err(quillet_host::definitions::DefinitionError::Store)?;
    let rights = call.rights();
    let ids = keys.iter().map(EntryKey::id);
    let mut named: Vec<(String, String)> = ids
        .filter(|id| rights.has(Permission::Read, id))
        .map(|id| (name_of(&id), id))
        .filter(|(known, _)| name.is_none_or(|name| name == known))
        .collect();
    // Langfuse sorts by name, which differs from the order of encoded ids.
    named.sort();
    Ok(named.into_iter().map(|(_, id)| id).collect())
}

/// Returns a prompt if it matches the filter.
async fn row(
    call: &RequestContext,
    id: &str,
    filter: &PromptFilter,
) -> Result<Option<Value>, ApiError> {
    let view = match PromptView::of(call, id).await {
        Ok(view) => view,
        // The prompt was removed after the names were read.
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stored = StoredPrompt::read(&view.newest.content.text);
    let tags = stored.as_ref().map(StoredPrompt::tags).unwrap_or_default();
    let mut labels: Vec<String> = view.labels.0.keys().cloned().collect();
    labels.push(LATEST.to_owned());
    let fits = |wanted: &Option<String>, known: &[String]| {
        wanted.as_ref().is_none_or(|wanted| known.contains(wanted))
    };
    let versions = view.versions().await?;
    let Some(newest) = versions.first() else {
        return Ok(None);
    };
    if !fits(&filter.label, &labels)
        || !fits(&filter.tag, &tags)
        || !filter.is_then(newest.created_ms)
    {
        return Ok(None);
    }
    let mut numbers: Vec<u64> = versions.iter().map(|version| version.number).collect();
    numbers.reverse();
    let of_label = match &filter.label {
        None => None,
        Some(label) => view.find(VersionRequest::Label(label)).await?,
    };
    let config = match &of_label {
        Some(found) => StoredPrompt::read(&found.content.text),
        None => stored.clone(),
    };
    if let Some(version) = of_label.and_then(|found| found.version) {
        numbers = vec![version.number];
    }
    Ok(Some(json!({
        "name": name_of(id),
        "type": stored.as_ref().map_or("text", StoredPrompt::kind),
        "versions": numbers,
        "labels": labels,
        "tags": tags,
        "lastUpdatedAt": created(newest),
        "lastConfig": config.map_or_else(|| json!({}), |stored| stored.config()),
    })))
}

impl PromptFilter {
    fn is_some(&self) -> bool {
        self.label.is_some() || self.tag.is_some() || self.from.is_some() || self.to.is_some()
    }

    /// Returns whether a time is in the requested range.
    fn is_then(&self, millis: u64) -> bool {
        let time = i64::try_from(millis).unwrap_or(i64::MAX);
        let from = self.from.is_none_or(|from| from.as_millisecond() <= time);
        from && self.to.is_none_or(|to| time <= to.as_millisecond())
    }
}

fn whole(name: &str, text: Option<&str>, default: usize) -> Result<usize, ApiError> {
    let Some(text) = text else {
        return Ok(default);
    };
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| wrong(name, "expected a whole number from 1"))
}

fn time(name: &str, text: Option<&str>) -> Result<Option<jiff::Timestamp>, ApiError> {
    let Some(text) = text else {
        return Ok(None);
    };
    let time = text.parse().map(Some);
    time.map_err(|_| wrong(name, "expected a time such as 2026-11-30T12:00:00Z"))
}
