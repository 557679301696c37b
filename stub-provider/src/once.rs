//! [`Once`]: the faults that are for one attempt, whichever it is.
//!
//! Owns which attempt each of them is for: the first at which it is aimed, and one for each
//! attempt, in the order in which they were set, at whatever stage they act. One that did not act
//! before its attempt was over is for the next.

use std::{collections::HashMap, sync::Arc};

use crate::record::Attempt;

/// The rules that act once, by id.
#[derive(Debug, Default)]
pub(crate) struct Once(HashMap<u32, Claim>);

#[derive(Debug)]
enum Claim {
    /// No attempt has it.
    Free,
    /// This attempt has it; it has not acted.
    By(Arc<Attempt>),
    /// It acted on this attempt, which has no other.
    Spent(Arc<Attempt>),
}

impl Once {
    pub(crate) fn add(&mut self, id: u32) {
        self.0.insert(id, Claim::Free);
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        self.0.contains_key(&id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn remove(&mut self, id: u32) {
        self.0.remove(&id);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The one that is for this attempt, of those that are aimed at it, in order. Asked again, it
    /// is the same one.
    pub(crate) fn claim(
        &mut self,
        attempt: &Arc<Attempt>,
        mut aimed: impl Iterator<Item = u32>,
    ) -> Option<u32> {
        // An attempt that was cut off by a crash gave nothing back.
        self.0
            .retain(|_, claim| !matches!(claim, Claim::Spent(by) if by.end().is_some()));
        for claim in self.0.values_mut() {
            if matches!(claim, Claim::By(by) if by.end().is_some()) {
                *claim = Claim::Free;
            }
        }
        let own = self.0.iter().find(|(_, claim)| claim.is_of(attempt));
        if let Some((id, _)) = own {
            return Some(*id);
        }
        let id = aimed.find(|id| matches!(self.0.get(id), Some(Claim::Free)))?;
        self.0.insert(id, Claim::By(attempt.clone()));
        Some(id)
    }

    /// It acts: whether it was one that acts once, and so is gone.
    pub(crate) fn spend(&mut self, id: u32) -> bool {
        let Some(claim) = self.0.get_mut(&id) else {
            return false;
        };
        if let Claim::By(by) = claim {
            *claim = Claim::Spent(by.clone());
        } else {
            self.0.remove(&id);
        }
        true
    }

    /// The attempt is over: what did not act on it is for another.
    pub(crate) fn give_back(&mut self, attempt: &Arc<Attempt>) {
        for claim in self.0.values_mut() {
            if matches!(claim, Claim::By(_)) && claim.is_of(attempt) {
                *claim = Claim::Free;
            }
        }
    }
}

impl Claim {
    fn is_of(&self, attempt: &Attempt) -> bool {
        match self {
            Self::Free => false,
            Self::By(by) | Self::Spent(by) => by.id == attempt.id,
        }
    }
}
