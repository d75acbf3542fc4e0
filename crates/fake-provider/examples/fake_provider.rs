//! Runs the fake provider as a process on `--port N` (default 8090). The model name selects the
//! reply; see `quillet_fake_provider::named`. Requests are not recorded. `GET /fake/counts` returns
//! the number of requests and of open responses.

use std::net::{Ipv4Addr, SocketAddr};

use quillet_fake_provider::{FakeProvider, ProviderSettings, ReplyScript};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let port = arguments.iter().position(|argument| argument == "--port");
    let port = port.and_then(|index| arguments.get(index + 1));
    let port = port.map_or(8090, |port| port.parse().expect("--port takes a number"));
    let settings = ProviderSettings {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        remembered: 0,
    };
    let provider = FakeProvider::start_with(ReplyScript::default(), settings);
    println!("listening on http://{}", provider.address());
    loop {
        std::thread::park();
    }
}
