//! The run's side of the messages: who waits for which piece, and whether the worker still moves.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::files::FileSandbox;
use super::modules::Modules;
use super::protocol::{FromWorker, HostReply, HostRequest, ToWorker};

/// What a piece's future receives.
pub(super) type Inbox = mpsc::UnboundedReceiver<FromWorker>;

/// Where messages of a worker arrive.
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
    /// Pieces that somebody waits for and that the worker has begun.
    begun: HashSet<u64>,
    sent: u64,
    /// Since when the worker computes without a word; `None` while it waits for us.
    busy: Option<Instant>,
    turn: Option<u64>,
    closed: bool,
}

/// Why a piece hears nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StallReason {
    /// The worker computed too long in something that nothing interrupts, and it was this piece.
    Time,
    /// The worker is gone because of another piece, or by itself.
    Gone,
}

impl WorkerMailbox {
    /// A board for a worker whose pieces may compute for this long.
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
            // The worker's own clock comes first; this one is for what its clock does not reach.
            patience: time + time / 10 + Duration::from_millis(50),
            modules,
            files,
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, MailboxState> {
        // A thread that panics while it holds plain data leaves it usable.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A piece is about to start.
    pub(super) fn open(&self, piece: u64) -> Inbox {
        let (sender, inbox) = mpsc::unbounded_channel();
        self.state().inboxes.insert(piece, sender);
        inbox
    }

    /// Nobody waits for a piece any more.
    pub(super) fn close(&self, piece: u64) {
        let mut state = self.state();
        state.inboxes.remove(&piece);
        state.begun.remove(&piece);
    }

    /// A message is about to be sent to the worker.
    pub(super) fn sending(&self) {
        let mut state = self.state();
        state.sent += 1;
        state.busy.get_or_insert_with(Instant::now);
    }

    /// A message of the worker. Gives what must be answered at once: questions for modules and
    /// files, and questions of pieces that nobody waits for.
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

    /// Notes whether the worker computes; gives whose message it is.
    fn note(&self, message: &FromWorker) -> Option<u64> {
        let mut state = self.state();
        match message {
            FromWorker::Turn { piece, handled } => {
                state.turn = *piece;
                state.begun.extend(piece);
                let is_idle = piece.is_none() && *handled >= state.sent;
                state.busy = (!is_idle).then(Instant::now);
                None
            }
            FromWorker::Ask { piece, .. } => {
                state.busy = None;
                Some(*piece)
            }
            FromWorker::Log { piece, .. } | FromWorker::Done { piece, .. } => Some(*piece),
        }
    }

    /// The answer to a question that is not of the run's names.
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

    /// The worker is gone: nothing more arrives.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.closed = true;
        state.inboxes.clear();
    }

    /// Whether the worker has come to a piece that somebody still waits for.
    pub(super) fn has_begun(&self, piece: u64) -> bool {
        self.state().begun.contains(&piece)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Until when a piece may wait before it looks again; `Err` once the worker has been silent for
    /// too long.
    pub(super) fn patience(&self, piece: u64) -> Result<Duration, StallReason> {
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
