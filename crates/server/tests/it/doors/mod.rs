//! Clients of other prompt services at our server: what they write, read, and are refused.

mod bad_input;
mod langfuse;
mod marks;
mod openai;
mod protected;
mod rights;
mod sdk;
mod service;
