//! Tests of tools against real servers that the tests start.

// Test helpers may unwrap, like tests.
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
