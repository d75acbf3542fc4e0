//! Creates the budgets from settings.

use std::collections::BTreeMap;

use quillet_core::budget::BudgetLimits;
use quillet_llm::SpendingOptions;

use crate::error::Error;
use crate::settings::{self, Setting, Settings};

/// Returns the budgets: the shared one and one per API key.
///
/// # Errors
/// A number is too large.
pub(super) fn options(settings: &Settings) -> Result<SpendingOptions, Error> {
    let tokens = settings.tokens(&settings::NAMED_TOKENS).iter();
    let keys: BTreeMap<String, BudgetLimits> = tokens
        .filter(|token| token.budget.is_set())
        .map(|token| (token.name.clone(), token.budget))
        .collect();
    Ok(SpendingOptions {
        all: all(settings)?,
        keys,
        hold: settings.milliseconds(&settings::BUDGET_HOLD_MS),
        answer_tokens: settings
            .integer(&settings::BUDGET_ANSWER_TOKENS)
            .unwrap_or_default(),
        unpriced_usd: settings.amount(&settings::BUDGET_UNPRICED),
    })
}

fn all(settings: &Settings) -> Result<BudgetLimits, Error> {
    let whole = |setting: &Setting| settings.integer(setting).map(|number| number as f64);
    let given = [
        (
            &settings::BUDGET_DAY_USD,
            settings.amount(&settings::BUDGET_DAY_USD),
        ),
        (
            &settings::BUDGET_DAY_TOKENS,
            whole(&settings::BUDGET_DAY_TOKENS),
        ),
        (
            &settings::BUDGET_RUN_USD,
            settings.amount(&settings::BUDGET_RUN_USD),
        ),
        (
            &settings::BUDGET_RUN_TOKENS,
            whole(&settings::BUDGET_RUN_TOKENS),
        ),
        (
            &settings::BUDGET_RUN_S,
            settings.amount(&settings::BUDGET_RUN_S),
        ),
    ];
    let mut limits = BudgetLimits::default();
    for (setting, number) in given {
        let Some(number) = number else { continue };
        // `BudgetLimits` has field names without the section, as in the table of a token.
        let name = setting.key.strip_prefix("budget.").unwrap_or(setting.key);
        limits.set(name, number).map_err(|error| {
            let origin = settings.origin(setting);
            let origin = origin.map_or_else(String::new, |origin| format!(" ({origin})"));
            Error::setting_from(format!("budget.{error}{origin}"), error)
        })?;
    }
    Ok(limits)
}
