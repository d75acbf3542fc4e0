//! Tools against real servers that the tests start themselves.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

mod addresses;
mod definitions;
mod files;
mod grpc;
mod grpc_server;
mod http_server;
mod knowledge;
mod mcp;
mod mcp_pages;
mod mcp_programs;
mod restful;
mod support;
mod tls;
mod toolset;
mod web;
mod web_search;
