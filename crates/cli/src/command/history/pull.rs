//! `quillet pull`: versions become files.

use super::Work;
use crate::args::Pull;
use crate::failure::Failure;

pub(super) async fn run(_args: &Pull, _work: &Work<'_>) -> Result<(), Failure> {
    Ok(())
}
