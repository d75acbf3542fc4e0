//! Templates without a service: what a program needs that wants texts and messages, and what the
//! packages for other languages stand on.
//!
//! [`Template`] is one template with its partials, [`Environment`] many that call each other by name.
//! Neither needs a runtime: where a template calls functions, [`Template::begin`] gives a
//! [`Rendering`], which says what it waits for and goes on when it is told.

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

/// The formats of this crate, made once: a format may hold tables of functions.
static FORMATS: LazyLock<TemplateFactory> = LazyLock::new(TemplateFactory::standard);
