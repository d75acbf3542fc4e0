//! Vector similarity and rank fusion.

use std::cmp::Ordering;
use std::collections::HashMap;

/// Constant of reciprocal rank fusion, which reduces the weight of the first ranks (Cormack et al.,
/// 2009).
const RANK_OFFSET: f64 = 60.0;

/// Normalizes a vector and packs it into bytes; empty for a zero vector.
pub(crate) fn packed(vector: &[f32]) -> Vec<u8> {
    unit(vector)
        .iter()
        .flat_map(|part| part.to_le_bytes())
        .collect()
}

/// Normalizes a vector to length 1; empty for a zero vector.
pub(crate) fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|part| part * part).sum::<f32>().sqrt();
    if !(length.is_finite() && length > 0.0) {
        return Vec::new();
    }
    vector.iter().map(|part| part / length).collect()
}

/// Returns the cosine of a normalized vector and a packed one; `None` if their lengths differ.
pub(crate) fn cosine(unit: &[f32], packed: &[u8]) -> Option<f32> {
    let (parts, rest) = packed.as_chunks::<4>();
    if parts.len() != unit.len() || unit.is_empty() || !rest.is_empty() {
        return None;
    }
    let products = unit
        .iter()
        .zip(parts)
        .map(|(a, b)| a * f32::from_le_bytes(*b));
    Some(products.sum())
}

/// Returns the `most` nearest, nearest first.
pub(crate) fn nearest(mut all: Vec<(i64, f32)>, most: usize) -> Vec<i64> {
    let order = |a: &(i64, f32), b: &(i64, f32)| {
        b.1.partial_cmp(&a.1)
            .unwrap_or(Ordering::Equal)
            // Equal scores are ordered by number, so results are reproducible.
            .then(a.0.cmp(&b.0))
    };
    if all.len() > most && most > 0 {
        // Linear, instead of sorting all candidates for a few results.
        all.select_nth_unstable_by(most - 1, order);
    }
    all.truncate(most);
    all.sort_by(order);
    all.into_iter().map(|(number, _)| number).collect()
}

/// Combines rankings by reciprocal ranks. A passage that is first in all of them has score 1.
pub(crate) fn fused(rankings: &[Vec<i64>], most: usize) -> Vec<(i64, f64)> {
    let mut scores: HashMap<i64, f64> = HashMap::new();
    for ranking in rankings {
        for (rank, number) in ranking.iter().enumerate() {
            *scores.entry(*number).or_default() +=
                (RANK_OFFSET + 1.0) / (RANK_OFFSET + 1.0 + rank as f64) / rankings.len() as f64;
        }
    }
    let mut scores: Vec<(i64, f64)> = scores.into_iter().collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scores.truncate(most);
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearness_is_a_cosine() {
        let one = unit(&[3.0, 4.0]);
        assert_eq!(one, [0.6, 0.8]);
        assert!((cosine(&one, &packed(&[30.0, 40.0])).unwrap() - 1.0).abs() < 1e-6);
        assert!((cosine(&one, &packed(&[-4.0, 3.0])).unwrap()).abs() < 1e-6);
        assert_eq!(cosine(&one, &packed(&[1.0])), None);
        assert_eq!(cosine(&one, &[1, 2, 3]), None);
        for bad in [vec![], vec![0.0, 0.0], vec![f32::NAN], vec![f32::INFINITY]] {
            assert!(packed(&bad).is_empty());
        }
    }

    #[test]
    fn the_nearest_come_first() {
        let all = vec![(1, 0.1), (2, 0.9), (3, 0.5), (4, 0.9)];
        assert_eq!(nearest(all.clone(), 3), [2, 4, 3]);
        assert_eq!(nearest(all.clone(), 9), [2, 4, 3, 1]);
        assert_eq!(nearest(all, 0), [0; 0]);
    }

    #[test]
    fn what_both_rankings_have_comes_first() {
        let fused = fused(&[vec![7, 8, 9], vec![8, 7]], 9);
        let numbers: Vec<i64> = fused.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [7, 8, 9]);
        assert!(fused.iter().all(|(_, score)| (0.0..=1.0).contains(score)));
        assert_eq!(super::fused(&[vec![5], vec![5]], 1), [(5, 1.0)]);
    }
}
