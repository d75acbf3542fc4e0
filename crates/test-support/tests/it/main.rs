//! Servers start, do not affect each other, and never outlive their owners.

mod mariadb;
mod postgres;
