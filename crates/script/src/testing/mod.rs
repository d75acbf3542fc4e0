//! Fixtures: scripts that are run against scripted or recorded models and checked.
