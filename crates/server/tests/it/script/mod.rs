//! Stored scripts through the routes, over real stores and a provider behind a socket.

mod rest;
mod served;
