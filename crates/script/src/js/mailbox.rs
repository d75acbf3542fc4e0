//! The run's side of the connection: tracks pending jobs and detects a worker that stops
//! responding.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use quillet_core::lock::lock;
use tokio::sync::mpsc;

use super::files::FileSandbox;
use super::modules::Modules;
use super::protocol::{FromWorker, HostReply, HostRequest, ToWorker};

/// Receives the messages of a job.
pub(super) type Inbox = mpsc::UnboundedReceiver<FromWorker>;

/// Receives and distributes the messages of a worker.
#[derive(Debug)]
pub(super) struct WorkerMailbox {
    state: Mutex<MailboxState>,
    patience: Duration,
    modules: Modules,
    files: FileSandbox,
}

#[derive(Debug)]
struct MailboxState {
    inboxes: HashMap<u64, mpsc::UnboundedSender<FromWorker>>,
    /// Pending jobs that the worker has begun.
    begun: HashSet<u64>,
    sent: u64,
    /// Start of the current computation without a message; `None` while the worker waits.
    busy: Option<Instant>,
    turn: Option<u64>,
    closed: bool,
}

/// The reason why a job receives no more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StallReason {
    /// The job spent too long in an operation that cannot be interrupted.
    Time,
    /// The worker ended because of another job, or crashed.
    Gone,
}

impl WorkerMailbox {
    /// Creates a mailbox for a worker with a time limit per job.
    pub(super) fn new(time: Duration, modules: Modules, files: FileSandbox) -> Self {
        WorkerMailbox {
            state: Mutex::new(MailboxState {
                inboxes: HashMap::new(),
                begun: HashSet::new(),
                sent: 0,
                busy: None,
                turn: None,
                closed: false,
            }),
            // This limit is longer than the worker's own limit, because the worker's errors are
            // more precise. It applies to operations that do not check the worker's clock.
            patience: time + time / 10 + Duration::from_millis(50),
            modules,
            files,
        }
    }

    fn state(&self) -> MutexGuard<'_, MailboxState> {
        // The state is plain data, which stays consistent even after a panic.
        lock(&self.state)
    }

    /// Registers a job that is about to start.
    pub(super) fn open(&self, piece: u64) -> Inbox {
        let (sender, inbox) = mpsc::unbounded_channel();
        self.state().inboxes.insert(piece, sender);
        inbox
    }

    /// Removes a job that is no longer pending.
    pub(super) fn close(&self, piece: u64) {
        let mut state = self.state();
        state.inboxes.remove(&piece);
        state.begun.remove(&piece);
    }

    /// Records that a message is about to be sent.
    pub(super) fn sending(&self) {
        let mut state = self.state();
        state.sent += 1;
        // A second message must not restart the clock of a computation.
        state.busy.get_or_insert_with(Instant::now);
    }

    /// Delivers a message of the worker. Returns an immediate reply to module and file requests,
    /// and to requests of jobs that are no longer pending.
    pub(super) fn deliver(&self, message: FromWorker) -> Option<ToWorker> {
        let message = match message {
            FromWorker::Ask {
                question,
                ask,
                piece,
            } => match self.attend(&ask) {
                Some(answer) => return self.reply(question, answer),
                None => FromWorker::Ask {
                    piece,
                    question,
                    ask,
                },
            },
            message => message,
        };
        let piece = self.note(&message)?;
        let question = match &message {
            FromWorker::Ask { question, .. } => Some(*question),
            _ => None,
        };
        let sent = self
            .state()
            .inboxes
            .get(&piece)
            .is_some_and(|inbox| inbox.send(message).is_ok());
        question
            .filter(|_| !sent)
            .and_then(|question| self.reply(question, HostReply::Gone))
    }

    /// Updates whether the worker is computing. Returns the job of the message.
    fn note(&self, message: &FromWorker) -> Option<u64> {
        let mut state = self.state();
        match message {
            FromWorker::Turn { piece, handled } => {
                state.turn = *piece;
                state.begun.extend(piece);
                // The worker has not read a later message yet, so it will compute again.
                let is_idle = piece.is_none() && *handled >= state.sent;
                state.busy = (!is_idle).then(Instant::now);
                None
            }
            FromWorker::Ask { piece, .. } => {
                // The worker blocks until the reply, and that time does not count as its own.
                state.busy = None;
                Some(*piece)
            }
            FromWorker::Log { piece, .. } | FromWorker::Done { piece, .. } => Some(*piece),
        }
    }

    /// Answers module and file requests, which need no names of the run.
    fn attend(&self, ask: &HostRequest) -> Option<HostReply> {
        match ask {
            HostRequest::Resolve(request) => {
                Some(HostReply::Resolved(self.modules.resolve(request)))
            }
            HostRequest::Load(path) => Some(HostReply::Resolved(self.modules.load(path))),
            HostRequest::File(call) => Some(HostReply::Now(self.files.call(call))),
            HostRequest::Get(_)
            | HostRequest::Set(..)
            | HostRequest::Names
            | HostRequest::Call { .. } => None,
        }
    }

    fn reply(&self, question: u64, answer: HostReply) -> Option<ToWorker> {
        self.sending();
        Some(ToWorker::Answer { question, answer })
    }

    /// Marks the worker as ended.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.closed = true;
        // Dropping the senders ends each pending `recv`.
        state.inboxes.clear();
    }

    /// Returns whether the worker has begun a pending job.
    pub(super) fn has_begun(&self, piece: u64) -> bool {
        self.state().begun.contains(&piece)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Returns how long to wait before checking a job again, or `Err` if the worker has not
    /// responded for too long.
    pub(super) fn remaining_wait(&self, piece: u64) -> Result<Duration, StallReason> {
        let state = self.state();
        let Some(busy) = state.busy else {
            return Ok(self.patience);
        };
        match self.patience.checked_sub(busy.elapsed()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ if state.turn == Some(piece) || state.turn.is_none() => Err(StallReason::Time),
            _ => Err(StallReason::Gone),
        }
    }
}
