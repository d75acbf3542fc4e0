//! `POST /v1/response` over HTTP.

mod basics;
mod lost;
mod providers;
mod replicas;
mod request;
