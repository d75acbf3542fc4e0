//! Databases under names, over real databases and a scripted model.

mod catalogues;
mod connections;
mod errors;
mod repair;
mod shop;
