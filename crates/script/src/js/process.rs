//! A worker in a separate process, which can be killed at any time.

use std::io::{self, BufReader, BufWriter};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use quillet_core::lock::lock;

use super::mailbox::WorkerMailbox;
use super::protocol::{ToWorker, WorkerLimits};
use super::wire;

/// The command that starts a worker process. The program must call [`super::serve_process`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerProgram {
    /// The program's file.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl WorkerProgram {
    /// Starts the process with an empty environment.
    fn start(&self) -> io::Result<IdleProcess> {
        let mut child = Command::new(&self.path)
            .args(&self.arguments)
            // Secrets of this process must not be readable from a worker.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A full, unread stderr pipe would block the worker.
            .stderr(Stdio::null())
            .spawn()?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let killer = ProcessKillGuard(Mutex::new(child));
        let (input, output) = ends.ok_or_else(|| io::Error::other("the process has no pipes"))?;
        Ok(IdleProcess {
            killer,
            input,
            output,
        })
    }
}

/// A process that no run uses yet.
#[derive(Debug)]
struct IdleProcess {
    killer: ProcessKillGuard,
    input: ChildStdin,
    output: ChildStdout,
}

/// Kills the process on drop and waits for its exit.
#[derive(Debug)]
struct ProcessKillGuard(Mutex<Child>);

impl ProcessKillGuard {
    fn kill(&self) {
        let mut child = lock(&self.0);
        // `kill` fails if the process has already exited, but `wait` is still needed to reap it.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for ProcessKillGuard {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A pool of processes. Each run takes one process, which is replaced after the run. A process
/// never serves two runs.
#[derive(Debug)]
pub struct JsPool {
    program: WorkerProgram,
    size: usize,
    idle: Mutex<Vec<IdleProcess>>,
}

impl JsPool {
    /// Creates a pool of `size` processes. Call [`JsPool::fill`] to start the processes.
    #[must_use]
    pub fn new(program: WorkerProgram, size: usize) -> Self {
        JsPool {
            program,
            size,
            idle: Mutex::default(),
        }
    }

    /// Starts processes until the pool is full.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn fill(&self) -> io::Result<()> {
        // The lock is released in between, because starting a process takes milliseconds and must
        // not block `take`.
        while self.idle().len() < self.size {
            let started = self.program.start()?;
            self.idle().push(started);
        }
        Ok(())
    }

    /// Returns the number of ready processes.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.idle().len()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<IdleProcess>> {
        lock(&self.idle)
    }

    fn take(&self) -> io::Result<IdleProcess> {
        let ready = self.idle().pop();
        ready.map_or_else(|| self.program.start(), Ok)
    }
}

/// A run's handle to its process. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct Process {
    sender: Sender<ToWorker>,
    killer: ProcessKillGuard,
}

impl Process {
    /// Starts a process for a run.
    pub(super) fn start(
        program: &WorkerProgram,
        bounds: &WorkerLimits,
        board: &Arc<WorkerMailbox>,
    ) -> io::Result<Self> {
        Process::serve(program.start()?, bounds, board, || {})
    }

    /// Takes a ready process from the pool.
    pub(super) fn take(
        pool: &Arc<JsPool>,
        bounds: &WorkerLimits,
        board: &Arc<WorkerMailbox>,
    ) -> io::Result<Self> {
        let home = Arc::clone(pool);
        // An error while refilling can be ignored here: the next `take` starts a process itself and
        // reports the error.
        Process::serve(pool.take()?, bounds, board, move || drop(home.fill()))
    }

    fn serve(
        started: IdleProcess,
        bounds: &WorkerLimits,
        board: &Arc<WorkerMailbox>,
        over: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let IdleProcess {
            killer,
            input,
            output,
        } = started;
        let (sender, receiver) = channel();
        let board = Arc::clone(board);
        let bounds = bounds.clone();
        // The reading thread replies to module and file requests directly, without involving the
        // run.
        let answers = sender.clone();
        let process = Process { sender, killer };
        std::thread::Builder::new()
            .name("javascript-in".to_owned())
            // Each blocking pipe has its own thread, because one thread for both directions could
            // deadlock on full pipes.
            .spawn(move || write(input, &bounds, &receiver))?;
        std::thread::Builder::new()
            .name("javascript-out".to_owned())
            .spawn(move || {
                read(output, &board, &answers);
                board.end();
                over();
            })?;
        Ok(process)
    }

    /// Sends a message. A dead worker is reported through the mailbox, so errors are ignored.
    pub(super) fn send(&self, message: ToWorker) {
        let _ = self.sender.send(message);
    }

    pub(super) fn kill(&self) {
        self.killer.kill();
    }
}

/// Sends messages until the process or the run ends.
fn write(input: ChildStdin, bounds: &WorkerLimits, receiver: &Receiver<ToWorker>) {
    let mut input = BufWriter::new(input);
    let mut sent = wire::write(&mut input, bounds);
    while sent.is_ok() {
        let Ok(message) = receiver.recv() else {
            return;
        };
        sent = wire::write(&mut input, &message);
    }
}

/// Reads messages until the process ends or sends an invalid one.
fn read(output: ChildStdout, board: &WorkerMailbox, answers: &Sender<ToWorker>) {
    let mut output = BufReader::new(output);
    if wire::greeted(&mut output).is_err() {
        return;
    }
    while let Ok(Some(message)) = wire::read(&mut output) {
        if let Some(answer) = board.deliver(message) {
            let _ = answers.send(answer);
        }
    }
}
