//! [`Numbered`]: a list in the order of its members' numbers.
//!
//! Owns that it grows evenly: it is made of pieces, so that no request waits until a million others
//! were copied to where there is more room.

use std::collections::VecDeque;

/// Members of a piece, at most.
const PIECE: usize = 4096;

/// A member of a [`Numbered`] list, which knows its own number.
pub(crate) trait HasNumber {
    fn number(&self) -> u64;
}

/// A list whose members keep their numbers when others are dropped.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    next: u64,
    /// None is empty.
    pieces: VecDeque<VecDeque<T>>,
    length: usize,
}

impl<T: HasNumber> Numbered<T> {
    /// An empty list, whose first member will have that number.
    pub(crate) fn starting_at(first: u64) -> Self {
        Self {
            next: first,
            pieces: VecDeque::new(),
            length: 0,
        }
    }

    /// The number of the next member.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The number of a member that is kept elsewhere.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    /// No member to come has a number below that one.
    pub(crate) fn skip_to(&mut self, number: u64) {
        self.next = self.next.max(number);
    }

    /// Adds a member, whose number is the next or one beyond it.
    pub(crate) fn push(&mut self, item: T) {
        self.next = item.number() + 1;
        self.length += 1;
        let last = self.pieces.back_mut();
        if let Some(piece) = last.filter(|piece| piece.len() < PIECE) {
            piece.push_back(item);
        } else {
            let mut piece = VecDeque::with_capacity(PIECE);
            piece.push_back(item);
            self.pieces.push_back(piece);
        }
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Every member.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }

    /// The members from a number on.
    pub(crate) fn from(&self, number: u64) -> impl Iterator<Item = &T> {
        let first = self.piece_of(number);
        let before = self.pieces.get(first).map_or(0, |piece| {
            piece.partition_point(|item| item.number() < number)
        });
        self.pieces.range(first..).flatten().skip(before)
    }

    /// The member of that number.
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        let piece = self.pieces.get(self.piece_of(number))?;
        let place = piece.binary_search_by_key(&number, T::number).ok()?;
        piece.get(place)
    }

    /// Takes out the member of that number.
    pub(crate) fn take(&mut self, number: u64) -> Option<T> {
        let nth = self.piece_of(number);
        let piece = self.pieces.get_mut(nth)?;
        let place = piece.binary_search_by_key(&number, T::number).ok()?;
        let item = piece.remove(place);
        if piece.is_empty() {
            self.pieces.remove(nth);
        }
        self.length -= 1;
        item
    }

    /// The first member.
    pub(crate) fn oldest(&self) -> Option<&T> {
        self.pieces.front()?.front()
    }

    /// Drops all members; the numbers go on.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.length = 0;
    }

    /// The piece that the member of a number would be in.
    fn piece_of(&self, number: u64) -> usize {
        let before = |piece: &VecDeque<T>| piece.back().is_some_and(|last| last.number() < number);
        self.pieces.partition_point(before)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    impl HasNumber for u64 {
        fn number(&self) -> u64 {
            *self
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn it_holds_what_was_added_and_not_taken_in_the_order_of_the_numbers(
            first in 0..9_u64,
            added in 1..3 * PIECE as u64,
            skipped in prop::collection::btree_set(0..3 * PIECE as u64, 0..9),
            taken in prop::collection::vec(0..3 * PIECE as u64, 0..99),
            asked in 0..3 * PIECE as u64,
        ) {
            let mut list = Numbered::starting_at(first);
            let mut known = BTreeSet::new();
            for _ in 0..added {
                let number = list.next();
                if skipped.contains(&number) {
                    list.skip();
                } else {
                    list.push(number);
                    known.insert(number);
                }
            }
            // The oldest, and from anywhere.
            for number in list.oldest().copied().into_iter().chain(taken) {
                prop_assert_eq!(list.take(number).is_some(), known.remove(&number));
            }
            prop_assert_eq!(list.next(), first + added);
            prop_assert_eq!(list.len(), known.len());
            prop_assert!(list.iter().eq(&known));
            prop_assert!(list.from(asked).eq(known.range(asked..)));
            prop_assert_eq!(list.oldest(), known.first());
            prop_assert_eq!(list.get(asked), known.get(&asked));
        }
    }

    #[test]
    fn pieces_go_with_their_last_member() {
        let mut list = Numbered::starting_at(0);
        for number in 0..3 * PIECE as u64 {
            list.push(number);
        }
        assert_eq!(list.pieces.len(), 3);
        for number in 0..2 * PIECE as u64 {
            assert_eq!(list.take(number), Some(number));
        }
        assert_eq!((list.pieces.len(), list.len()), (1, PIECE));
        list.clear();
        assert_eq!(
            (list.oldest(), list.len(), list.next()),
            (None, 0, 3 * PIECE as u64)
        );
    }
}
