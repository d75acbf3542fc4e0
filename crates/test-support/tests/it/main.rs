//! Servers start, are left alone by one another, and never outlive their owners.

mod mariadb;
mod postgres;
