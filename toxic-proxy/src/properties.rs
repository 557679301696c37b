//! What holds for a chain of toxics whatever the data, its chunks and the
//! settings: a link is driven by hand, on a clock of its own.

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use tokio::time::{Duration, Instant};

use crate::item::{Chunk, End, Item};
use crate::link::Link;
use crate::seed;
use crate::stage::Stage;
use crate::toxic::{Stream, Toxic};
use crate::toxics::{Attributes, Bandwidth, Latency, LimitData, Slicer, SlowClose};

/// What a sink saw: the bytes of each item, and the end.
#[derive(Debug)]
struct Sink {
    pieces: Vec<Vec<u8>>,
    end: Option<End>,
}

impl Sink {
    fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

/// Feeds chunks and a FIN through a chain as fast as it takes them; `change`
/// may alter the chain before each.
fn drive(
    toxics: &[Attributes],
    chunks: &[Vec<u8>],
    mut change: impl FnMut(usize, &mut Link, Instant),
) -> Sink {
    let mut now = Instant::now();
    let mut link = Link::default();
    for (index, attributes) in toxics.iter().enumerate() {
        link.add(stage(&index.to_string(), *attributes, now));
    }
    let mut acted: Vec<Arc<str>> = Vec::new();
    let mut waiting: Vec<Item> = chunks
        .iter()
        .map(|bytes| {
            Item::Data(Chunk {
                bytes: Bytes::copy_from_slice(bytes),
                received: now,
            })
        })
        .chain([Item::End(End::Fin)])
        .rev()
        .collect();
    let mut sink = Sink {
        pieces: Vec::new(),
        end: None,
    };
    for step in 0..1_000_000 {
        change(step, &mut link, now);
        link.step(now, &mut acted);
        match link.pop_ready() {
            Some(Item::Data(chunk)) => sink.pieces.push(chunk.bytes.to_vec()),
            Some(Item::End(end)) => {
                sink.end = Some(end);
                return sink;
            }
            None if link.has_room() && !waiting.is_empty() => {
                let item = waiting.pop().expect("it is not empty");
                let item = match item {
                    Item::Data(chunk) => Item::Data(Chunk {
                        received: now,
                        ..chunk
                    }),
                    end @ Item::End(_) => end,
                };
                link.feed(item, now, &mut acted);
            }
            None => match link.deadline_after(now) {
                Some(deadline) => now = deadline,
                None => now += Duration::from_millis(1),
            },
        }
    }
    panic!("the end never came: {sink:?}");
}

fn stage(name: &str, attributes: Attributes, now: Instant) -> Stage {
    let toxic = Toxic::new(Stream::Upstream, attributes).named(name);
    Stage::new(
        &toxic,
        seed::generator(1, "p", 1, Stream::Upstream, name, 0),
        now,
    )
}

fn chunks() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..12)
}

fn slicer() -> impl Strategy<Value = Slicer> {
    (1_u64..200, any::<prop::sample::Index>(), 0_u64..2_000).prop_map(
        |(average_size, variation, delay)| Slicer {
            average_size,
            size_variation: variation.index(usize::try_from(average_size).unwrap_or(1)) as u64,
            delay,
        },
    )
}

/// Every toxic that loses nothing.
fn faithful() -> impl Strategy<Value = Attributes> {
    prop_oneof![
        Just(Attributes::Noop),
        (0_u64..500, 0_u64..500).prop_map(|(latency, jitter)| Latency { latency, jitter }.into()),
        (1_u64..1_000).prop_map(|rate| Bandwidth { rate }.into()),
        (0_u64..500).prop_map(|delay| SlowClose { delay }.into()),
        slicer().prop_map(Attributes::from),
    ]
}

proptest! {
    #[test]
    fn any_chain_of_faithful_toxics_keeps_the_bytes_in_order_and_the_end(
        toxics in prop::collection::vec(faithful(), 0..5),
        chunks in chunks(),
    ) {
        let sink = drive(&toxics, &chunks, |_, _, _| {});
        prop_assert_eq!(sink.bytes(), chunks.concat());
        prop_assert_eq!(sink.end, Some(End::Fin));
    }

    #[test]
    fn removing_and_adding_toxics_in_between_loses_and_reorders_nothing(
        toxics in prop::collection::vec(faithful(), 1..5),
        chunks in chunks(),
        changes in prop::collection::vec((0_usize..60, 0_usize..5, faithful()), 0..6),
    ) {
        let sink = drive(&toxics, &chunks, |step, link, now| {
            for (nth, (_, victim, added)) in
                changes.iter().enumerate().filter(|(_, (at, _, _))| *at == step)
            {
                link.remove(&victim.to_string(), now, &mut Vec::new());
                link.add(stage(&format!("added {nth}"), *added, now));
            }
        });
        prop_assert_eq!(sink.bytes(), chunks.concat());
        prop_assert_eq!(sink.end, Some(End::Fin));
    }

    #[test]
    fn updating_toxics_in_between_loses_and_reorders_nothing(
        toxic in faithful(),
        chunks in chunks(),
        updates in prop::collection::vec((0_usize..60, faithful(), any::<bool>()), 0..6),
    ) {
        let sink = drive(&[toxic], &chunks, |step, link, now| {
            for (nth, (_, attributes, applies)) in
                updates.iter().enumerate().filter(|(_, (at, _, _))| *at == step)
            {
                let toxic = Toxic::new(Stream::Upstream, *attributes)
                    .named("0")
                    .with_toxicity(if *applies { 1.0 } else { 0.0 });
                let rng = seed::generator(1, "p", 1, Stream::Upstream, "0", nth as u64);
                link.update("0", now, &mut Vec::new(), |stage| stage.update(&toxic, rng, now));
            }
        });
        prop_assert_eq!(sink.bytes(), chunks.concat());
        prop_assert_eq!(sink.end, Some(End::Fin));
    }

    #[test]
    fn limit_data_passes_exactly_so_many_bytes_wherever_it_stands(
        before in prop::collection::vec(faithful(), 0..3),
        after in prop::collection::vec(faithful(), 0..3),
        limit in 0_u64..2_000,
        chunks in chunks(),
    ) {
        let toxics: Vec<Attributes> =
            before.into_iter().chain([LimitData { bytes: limit }.into()]).chain(after).collect();
        let sink = drive(&toxics, &chunks, |_, _, _| {});
        let all = chunks.concat();
        let passed = all.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
        prop_assert_eq!(sink.bytes(), &all[..passed]);
        let cut = !all.is_empty() && all.len() as u64 >= limit;
        prop_assert_eq!(sink.end, Some(if cut { End::Close } else { End::Fin }));
    }

    #[test]
    fn a_slicer_keeps_the_bytes_and_its_sizes(slicer in slicer(), chunks in chunks()) {
        let sink = drive(&[slicer.into()], &chunks, |_, _, _| {});
        prop_assert_eq!(sink.bytes(), chunks.concat());
        let most = usize::try_from(slicer.average_size + slicer.size_variation).unwrap_or(usize::MAX);
        prop_assert!(sink.pieces.iter().all(|piece| (1..=most).contains(&piece.len())));
    }
}
