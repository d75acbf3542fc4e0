//! Stored scripts through the routes, over real stores and a provider behind a socket.

mod broken;
mod dry;
mod javascript;
mod rest;
mod served;
mod together;
