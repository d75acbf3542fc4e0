//! Stored scripts over HTTP, with real stores and a provider behind a socket.

mod broken;
mod dry;
mod javascript;
mod rest;
mod served;
mod together;
