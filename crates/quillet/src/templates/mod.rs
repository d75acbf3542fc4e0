//! Templates without a service: rendering of text and messages. The packages for other languages
//! are built on this module.
//!
//! [`Template`] is one template with its partials; [`Environment`] holds templates that call each
//! other by name. Neither needs a runtime: if a template calls functions, [`Template::begin`]
//! returns a [`Rendering`], which lists the pending calls and continues when they are answered.

mod check;
mod environment;
mod error;
mod rendered;
mod rendering;
mod template;

use std::sync::LazyLock;

use quillet_template::TemplateFactory;

pub use self::check::{FormatNames, check, convert, formats};
pub use self::environment::Environment;
pub use self::error::TemplateError;
pub use self::rendered::{FailedCall, RenderedTemplate};
pub use self::rendering::{FunctionCall, RenderStep, Rendering};
pub use self::template::{Template, TemplateFunction, TemplateOptions, render};

/// All template formats. Created once, because a format may hold tables of functions.
static FORMATS: LazyLock<TemplateFactory> = LazyLock::new(TemplateFactory::standard);
