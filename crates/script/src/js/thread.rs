//! A worker in a thread of this process.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use super::child::receive;
use super::mailbox::WorkerMailbox;
use super::port::{Control, Port, ReceiveResult};
use super::protocol::{FromWorker, ToWorker, WorkerLimits};
use super::worker;

/// Stack size for native code in bytes, in addition to the JavaScript limit.
pub(super) const STACK: usize = 2 << 20;

/// A run's handle to its thread. Dropping it stops the thread at the next interrupt.
#[derive(Debug)]
pub(super) struct Thread {
    sender: Sender<ToWorker>,
    control: Arc<Control>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.end();
    }
}

impl Thread {
    /// Starts a worker.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(super) fn start(
        bounds: &WorkerLimits,
        board: &Arc<WorkerMailbox>,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let control = Arc::new(Control::default());
        let bounds = bounds.clone();
        let port = ThreadPort {
            receiver,
            own: RefCell::default(),
            board: Arc::clone(board),
        };
        let shared = Arc::clone(&control);
        std::thread::Builder::new()
            .name("javascript".to_owned())
            // QuickJS checks its limit only in JavaScript frames, so native frames in between need
            // extra room.
            .stack_size(bounds.stack + STACK)
            .spawn(move || {
                let board = Arc::clone(&port.board);
                worker::serve(&bounds, Box::new(port), shared);
                board.end();
            })?;
        Ok(Thread { sender, control })
    }

    /// Stops JavaScript at the next interrupt.
    pub(super) fn end(&self) {
        self.control.stop();
    }

    /// Sends a message. A dead worker is reported through the mailbox, so errors are ignored.
    pub(super) fn send(&self, message: ToWorker) {
        if let ToWorker::Cancel { piece } = message {
            // The interrupt handler reads this flag while JavaScript runs. A message would be read
            // only after JavaScript returns.
            self.control.cancel(piece);
        }
        let _ = self.sender.send(message);
    }
}

struct ThreadPort {
    receiver: Receiver<ToWorker>,
    /// Replies from this side. A sender here would keep the channel open and the thread alive
    /// forever.
    own: RefCell<VecDeque<ToWorker>>,
    board: Arc<WorkerMailbox>,
}

impl Port for ThreadPort {
    fn send(&self, message: FromWorker) {
        if let Some(answer) = self.board.deliver(message) {
            self.own.borrow_mut().push_back(answer);
        }
    }

    fn receive(&self, until: Option<Instant>) -> ReceiveResult {
        if let Some(message) = self.own.borrow_mut().pop_front() {
            return ReceiveResult::Message(message);
        }
        receive(&self.receiver, until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::js::protocol::WorkerJob;

    /// Waits until the thread has released the mailbox.
    fn has_ended(board: &Arc<WorkerMailbox>) -> bool {
        let begun = Instant::now();
        while Arc::strong_count(board) > 1 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Arc::strong_count(board) == 1
    }

    #[test]
    fn the_thread_ends_with_its_owner() {
        for code in ["1", "(() => { for (;;) {} })()"] {
            let bounds = WorkerLimits {
                time: Duration::from_secs(60),
                ..WorkerLimits::default()
            };
            let board = Arc::new(WorkerMailbox::new(
                bounds.time,
                Default::default(),
                Default::default(),
            ));
            let thread = Thread::start(&bounds, &board).unwrap();
            let _inbox = board.open(1);
            thread.send(ToWorker::Start {
                piece: 1,
                work: WorkerJob::Evaluate {
                    code: code.to_owned(),
                },
            });
            while !board.has_begun(1) {
                std::thread::yield_now();
            }
            drop(thread);
            assert!(has_ended(&board), "{code}");
        }
    }
}
