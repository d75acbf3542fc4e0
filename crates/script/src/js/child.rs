//! A worker in its own process. It reads messages from its input and writes to its output.

use std::cell::RefCell;
use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use super::port::{Control, Port, ReceiveResult};
use super::protocol::{FromWorker, ToWorker, WorkerLimits};
use super::thread::STACK;
use super::wire;
use super::worker;

/// Serves one run. Sends the greeting, receives the limits, and processes jobs until the input ends
/// or JavaScript exceeds a limit. When the input ends, `leave` is called and must end the process,
/// because JavaScript may be inside an operation that cannot be interrupted.
///
/// # Errors
/// The input cannot be read, or the output cannot be written.
pub fn serve(
    input: impl Read + Send + 'static,
    mut output: impl Write + Send + 'static,
    leave: fn(),
) -> io::Result<()> {
    output.write_all(wire::GREETING)?;
    output.flush()?;
    let mut input = BufReader::new(input);
    let Some(bounds) = wire::read::<WorkerLimits>(&mut input)? else {
        return Ok(());
    };
    let control = Arc::new(Control::default());
    let (sender, receiver) = channel();
    let shared = Arc::clone(&control);
    std::thread::spawn(move || {
        listen(&mut input, &sender, &shared);
        leave();
    });
    let stack = bounds.stack + STACK;
    let work = move || {
        let port = ChildPort {
            receiver,
            output: RefCell::new(output),
        };
        worker::serve(&bounds, Box::new(port), control);
    };
    let thread = std::thread::Builder::new().stack_size(stack).spawn(work)?;
    thread
        .join()
        .map_err(|_| io::Error::other("the worker failed"))
}

/// Forwards messages. A cancellation takes effect even while its job computes.
fn listen(input: &mut impl Read, sender: &Sender<ToWorker>, control: &Control) {
    while let Ok(Some(message)) = wire::read::<ToWorker>(input) {
        if let ToWorker::Cancel { piece } = message {
            // The interrupt handler reads this flag while JavaScript runs. The message itself is
            // read only after JavaScript returns.
            control.cancel(piece);
        }
        if sender.send(message).is_err() {
            break;
        }
    }
    control.stop();
}

struct ChildPort<W> {
    receiver: Receiver<ToWorker>,
    output: RefCell<W>,
}

impl<W: Write> Port for ChildPort<W> {
    fn send(&self, message: FromWorker) {
        // Errors are ignored, because the input also ends if the other side no longer reads.
        let _ = wire::write(&mut *self.output.borrow_mut(), &message);
    }

    fn receive(&self, until: Option<Instant>) -> ReceiveResult {
        receive(&self.receiver, until)
    }
}

/// Waits for a message until the given time at most.
pub(super) fn receive(receiver: &Receiver<ToWorker>, until: Option<Instant>) -> ReceiveResult {
    let Some(until) = until else {
        return receiver
            .recv()
            .map_or(ReceiveResult::Closed, ReceiveResult::Message);
    };
    match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Ok(message) => ReceiveResult::Message(message),
        Err(RecvTimeoutError::Timeout) => ReceiveResult::TimedOut,
        Err(RecvTimeoutError::Disconnected) => ReceiveResult::Closed,
    }
}
