//! `POST …/embeddings`: equal texts have equal vectors, and texts with common words (or common
//! characters, in scripts without spaces) have similar ones.

use serde_json::{Value, json};

use crate::request::RecordedRequest;

/// The length of a vector if the request does not set one.
const DIMENSIONS: usize = 64;
/// The maximum length of a vector.
const MOST_DIMENSIONS: usize = 4096;

/// Returns the response body.
pub(crate) fn answer(asked: &RecordedRequest) -> Value {
    let body = asked.json();
    let wanted = body["dimensions"].as_u64().map(|size| size as usize);
    let dimensions = wanted.unwrap_or(DIMENSIONS).clamp(1, MOST_DIMENSIONS);
    let texts: Vec<&str> = match &body["input"] {
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        text => text.as_str().into_iter().collect(),
    };
    let words: usize = texts
        .iter()
        .map(|text| text.split_whitespace().count())
        .sum();
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            json!({"object": "embedding", "index": index, "embedding": vector(text, dimensions)})
        })
        .collect();
    json!({
        "object": "list",
        "data": data,
        "model": asked.model,
        "usage": {"prompt_tokens": words, "total_tokens": words},
    })
}

/// Returns a vector of length 1. Every word adds to a few of its components.
fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimensions];
    for word in words(text) {
        let mut hash = fnv(word.as_bytes());
        for _ in 0..3 {
            let sign = if hash & 1 == 0 { 1.0 } else { -1.0 };
            vector[(hash >> 1) as usize % dimensions] += sign;
            hash = fnv(&hash.to_le_bytes());
        }
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    vector
}

/// Splits a text into ASCII words and splits all other words into characters.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut words = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        match word.is_ascii() {
            true if word.is_empty() => {}
            true => words.push(word.to_owned()),
            false => words.extend(word.chars().map(String::from)),
        }
    }
    words
}

/// Returns the FNV-1a hash.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_texts_have_near_vectors() {
        let near = |a: &str, b: &str| -> f32 {
            let (a, b) = (vector(a, 64), vector(b, 64));
            a.iter().zip(&b).map(|(a, b)| a * b).sum()
        };
        assert!((near("The cat sat", "the CAT sat!") - 1.0).abs() < 1e-6);
        assert!(near("the cat sat", "the cat ran") > near("the cat sat", "rust compiles"));
        assert!(near("退款政策", "退款规则") > near("退款政策", "天气预报"));
        assert!(vector("", 8).iter().all(|value| *value == 0.0));
    }
}
