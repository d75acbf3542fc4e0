//! `POST /v1/response` as its clients see it.

mod basics;
mod lost;
mod providers;
mod replicas;
mod request;
