//! That a round is alone: with its record, and on its machine.
//!
//! Two processes on one round would each measure all that is left; two rounds on one machine would measure each other.

use crate::exit::Complaint;
use anyhow::Context as _;
use paceline_lab::{Claim, Claimed};
use paceline_store::Store;

/// Claims a round, so that no second process carries it on. The lock is beside the store: whoever has the round has
/// that, by whatever way they came to it and wherever their state folder is.
pub fn with_round(id: &str, store: &Store) -> anyhow::Result<Claim> {
    let kept_in = store.path();
    let file =
        kept_in.canonicalize().with_context(|| format!("cannot tell where {} is", kept_in.display()))?;
    let path = file.with_file_name("locks").join(format!("{id}.lock"));
    let claimed = Claim::of(&path, &format!("round {id}"));
    match claimed.with_context(|| format!("cannot lock {}", path.display()))? {
        Claimed::Ours(claim) => Ok(claim),
        Claimed::By(holder) => {
            let process = holder.split(" (").next().unwrap_or(&holder);
            let what = format!("round {id} is being carried on by {process}");
            Err(Complaint::environment(what).hint("wait for it to end, or interrupt it").into())
        }
    }
}

/// Claims the machine; where another round has it, this is refused, or told and gone ahead with.
pub fn on_machine(id: &str, share: bool) -> anyhow::Result<(Option<Claim>, Option<String>)> {
    match Claim::of_machine(&format!("round {id}")) {
        Some(Claimed::Ours(claim)) => Ok((Some(claim), None)),
        Some(Claimed::By(holder)) if share => Ok((Claim::beside_others(), Some(holder))),
        Some(Claimed::By(holder)) => {
            Err(Complaint::environment(format!("another round runs on this machine: {holder}"))
                .hint("each would measure the other: wait for it to end, or go ahead with --share-machine")
                .into())
        }
        None => Ok((None, None)),
    }
}
