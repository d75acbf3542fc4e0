//! Tests the service with real databases and a scripted model.

mod accepted;
mod catalogues;
mod connections;
mod crowd;
mod errors;
mod exports;
mod previous;
mod repair;
mod shop;
mod values;
