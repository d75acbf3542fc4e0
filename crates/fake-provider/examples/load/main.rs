//! A load generator for benchmarks. It sends one body many times, reads each response to its end
//! and measures the time.
//!
//! `load [OPTIONS] URL BODY-FILE` prints one line: `LOAD`, the numbers of successful and failed
//! responses, the 50th and 99th percentile of the time to the first token and of the total time (in
//! microseconds), the responses per second, and the number of requests that found no free
//! connection within a second after the last one was due.

mod run;

use std::time::Duration;

use run::{Failure, Load, percentile, run};

const USAGE: &str = "usage: load [OPTIONS] URL BODY-FILE
  --connections N   so many at once (1)
  --requests N      stop after so many
  --seconds N       stop after so long
  --rate N          so many a second, however long answers take: times count from when a request was due
  --token TEXT      what every token of the answer has in it; without it, the first byte is the first token
  --tokens N        an answer with fewer or more of them has failed
  --end TEXT        an answer that does not end with it has failed";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let times = run(read(std::env::args().skip(1))?).await?;
    println!(
        "LOAD {} {} {} {} {} {} {:.1} {}",
        times.whole.len(),
        times.failed,
        percentile(&times.first, 50).as_micros(),
        percentile(&times.first, 99).as_micros(),
        percentile(&times.whole, 50).as_micros(),
        percentile(&times.whole, 99).as_micros(),
        times.whole.len() as f64 / times.took.as_secs_f64(),
        times.unserved,
    );
    if let Some(failure) = times.failure {
        eprintln!("the first that failed: {failure}");
    }
    Ok(())
}

fn read(mut arguments: impl Iterator<Item = String>) -> Result<Load, Failure> {
    let mut load = Load::default();
    let mut places = Vec::new();
    while let Some(argument) = arguments.next() {
        if !argument.starts_with("--") {
            places.push(argument);
            continue;
        }
        let value = arguments.next().ok_or(USAGE)?;
        match argument.as_str() {
            "--connections" => load.connections = value.parse()?,
            "--requests" => load.requests = Some(value.parse()?),
            "--seconds" => load.seconds = Some(Duration::try_from_secs_f64(value.parse()?)?),
            "--rate" => load.rate = Some(value.parse()?),
            "--token" => load.token = value,
            "--tokens" => load.tokens = Some(value.parse()?),
            "--end" => load.end = value,
            _ => return Err(USAGE.into()),
        }
    }
    let [url, body] = places.as_slice() else {
        return Err(USAGE.into());
    };
    load.uri = url.parse()?;
    load.body = std::fs::read(body)?.into();
    Ok(load)
}
