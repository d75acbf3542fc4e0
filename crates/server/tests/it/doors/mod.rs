//! Clients of other prompt services: writes, reads and errors.

mod bad_input;
mod langfuse;
mod marks;
mod openai;
mod protected;
mod rights;
mod sdk;
mod service;
