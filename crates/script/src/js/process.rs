//! A worker in a process of its own, which can be killed in the middle of anything.

use std::io::{self, BufReader, BufWriter};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::mailbox::WorkerMailbox;
use super::protocol::{ToWorker, WorkerLimits};
use super::wire;

/// The command that starts a worker's process: a program that calls [`super::serve_process`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerProgram {
    /// The program's file.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl WorkerProgram {
    /// Starts it, with nothing of this process's environment.
    fn start(&self) -> io::Result<IdleProcess> {
        let mut child = Command::new(&self.path)
            .args(&self.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let killer = Killer(Mutex::new(child));
        let (input, output) = ends.ok_or_else(|| io::Error::other("the process has no pipes"))?;
        Ok(IdleProcess {
            killer,
            input,
            output,
        })
    }
}

/// A process that serves nobody yet.
#[derive(Debug)]
struct IdleProcess {
    killer: Killer,
    input: ChildStdin,
    output: ChildStdout,
}

/// Ends the process with its owner, and leaves nothing of it behind.
#[derive(Debug)]
struct Killer(Mutex<Child>);

impl Killer {
    fn kill(&self) {
        let mut child = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has ended already needs only to be waited for.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Processes that wait for runs: a run takes one, and another is started in its place once the run
/// is over. No process serves two runs.
#[derive(Debug)]
pub struct JsPool {
    program: WorkerProgram,
    size: usize,
    idle: Mutex<Vec<IdleProcess>>,
}

impl JsPool {
    /// A pool that keeps so many processes ready. They start with [`JsPool::fill`].
    #[must_use]
    pub fn new(program: WorkerProgram, size: usize) -> Self {
        JsPool {
            program,
            size,
            idle: Mutex::default(),
        }
    }

    /// Starts the processes that are missing.
    ///
    /// # Errors
    /// That the program cannot be started.
    pub fn fill(&self) -> io::Result<()> {
        while self.idle().len() < self.size {
            let started = self.program.start()?;
            self.idle().push(started);
        }
        Ok(())
    }

    /// How many are ready.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.idle().len()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<IdleProcess>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> io::Result<IdleProcess> {
        let ready = self.idle().pop();
        ready.map_or_else(|| self.program.start(), Ok)
    }
}

/// The run's end of a process. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct Process {
    sender: Sender<ToWorker>,
    killer: Killer,
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

    /// Takes a process that is ready.
    pub(super) fn take(
        pool: &Arc<JsPool>,
        bounds: &WorkerLimits,
        board: &Arc<WorkerMailbox>,
    ) -> io::Result<Self> {
        let home = Arc::clone(pool);
        // A process that cannot be started now is missed, and reported, when one is taken.
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
        let answers = sender.clone();
        let process = Process { sender, killer };
        std::thread::Builder::new()
            .name("javascript-in".to_owned())
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

    /// Says something to the worker. One that is gone hears nothing: the board tells who waits.
    pub(super) fn send(&self, message: ToWorker) {
        let _ = self.sender.send(message);
    }

    pub(super) fn kill(&self) {
        self.killer.kill();
    }
}

/// Sends messages until the process or the run is gone.
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

/// Takes messages until the process ends or says what is no message.
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
