//! The HTTP client of the command line and of workers: several endpoints, one right, typed failures.
//!
//! A request goes to the endpoint that answered last, then to each other one. Every write carries an `Idempotency-Key`,
//! the same in each try, so that a retry on another node after a lost answer acts once. It follows no redirect and uses
//! no proxy: a token goes to the addresses that the user named and nowhere else.
//!
//! Answers stay JSON values on purpose: the command line prints fields that it does not know yet, so that it keeps
//! working against a cluster that is one version ahead. What a program works on is typed: leases ([`Client::lease`],
//! [`Client::heartbeat`], [`Client::settle`]), and the loop around them, [`worker`].

mod ask;
mod call;
mod download;
pub mod draft;
mod endpoint;
mod error;
mod events;
mod insist;
mod lease;
mod open;
mod pages;
mod sse;
mod stream;
pub mod worker;

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use ask::Answer;
pub use call::{Call, Condition};
pub use endpoint::{Endpoint, Token};
pub use error::{Error, FieldError, Problem, Tried};
pub use open::Download;
pub use pages::Pages;
pub use stream::{LedgerEvent, LedgerStream, Wanted};

use ask::Outcome;

/// How often every endpoint is asked while the cluster says that it cannot now: an election takes less than the waits
/// between (250, 500 and 1,000 ms).
const ROUNDS: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// A node that is up answers a connect at once; more is a dead machine, and the next endpoint may live.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);

/// How a client is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The nodes, in the order in which they are tried; at least one.
    pub endpoints: Vec<Endpoint>,
    /// The right to ask, if the cluster wants one.
    pub token: Option<Token>,
    /// How long one request may take, every try included.
    pub timeout: Duration,
}

/// A client of one cluster.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    options: Options,
    /// The endpoint that answered last: a dead first endpoint costs its connect limit once, not with every request.
    preferred: AtomicUsize,
}

impl Client {
    /// Sets a client up; connects to nothing yet.
    ///
    /// # Errors
    /// [`Error::Unusable`] when no endpoint is given or no TLS client can be made.
    pub fn new(options: Options) -> Result<Self, Error> {
        if options.endpoints.is_empty() {
            return Err(Error::Unusable("no endpoint is given".into()));
        }
        install_crypto();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_LIMIT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        if !options.endpoints.iter().any(Endpoint::is_encrypted) {
            // Without this the machine's certificates are read, and a container that has none cannot start.
            builder = builder.tls_certs_only(std::iter::empty());
        }
        let http = builder
            .build()
            .map_err(|error| Error::Unusable(format!("no HTTP client: {}", ask::chain(&error))))?;
        Ok(Self { http, options, preferred: AtomicUsize::new(0) })
    }

    /// The same client for one endpoint only.
    ///
    /// # Panics
    /// When there is no such endpoint.
    #[must_use]
    pub fn only(&self, place: usize) -> Self {
        self.at(self.options.endpoints[place].clone())
    }

    /// The same, asking one other endpoint only.
    #[must_use]
    pub fn at(&self, endpoint: Endpoint) -> Self {
        let options = Options { endpoints: vec![endpoint], ..self.options.clone() };
        Self { http: self.http.clone(), options, preferred: AtomicUsize::new(0) }
    }

    /// The endpoints, in the order given.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.options.endpoints
    }

    /// Sends `call` until a node answers, at most for the client's timeout.
    ///
    /// # Errors
    /// As [`Error`] says; after [`Error::TimedOut`] a write may have acted, and the same key asks again safely.
    pub async fn send(&self, call: &Call) -> Result<Answer, Error> {
        let call = self.with_key(call)?;
        let deadline = Instant::now() + self.options.timeout;
        let mut failed = Failed::default();
        for round in 0..ROUNDS {
            if round > 0 && !wait_before(round, deadline).await {
                break;
            }
            if let Some(answer) = self.ask_each(&call, deadline, &mut failed).await? {
                return Ok(answer);
            }
            if !failed.is_worth_a_wait() {
                break;
            }
        }
        Err(failed.into_error())
    }

    /// Sends `call` to each endpoint at most once, without a wait for better times: for those who ask how a node is.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn try_once(&self, call: &Call) -> Result<Answer, Error> {
        let call = self.with_key(call)?;
        let mut failed = Failed::default();
        let answer = self.ask_each(&call, Instant::now() + self.options.timeout, &mut failed).await?;
        answer.ok_or_else(|| failed.into_error())
    }

    /// Asks each endpoint once. `None` when none of them settled the matter.
    async fn ask_each(
        &self,
        call: &Call,
        deadline: Instant,
        failed: &mut Failed,
    ) -> Result<Option<Answer>, Error> {
        let mut turns = self.turns(deadline);
        while let Some(turn) = turns.next(call, failed) {
            match ask::ask(&self.http, turn.endpoint, self.options.token.as_ref(), call, turn.share).await {
                Ok(answer) => {
                    self.preferred.store(turn.place, Ordering::Relaxed);
                    return Ok(Some(answer));
                }
                Err(outcome) => failed.hear(turn.endpoint, call, outcome)?,
            }
        }
        Ok(None)
    }

    /// Each endpoint once, beginning with the one that answered last.
    fn turns(&self, deadline: Instant) -> Turns<'_> {
        let first = self.preferred.load(Ordering::Relaxed);
        Turns { endpoints: &self.options.endpoints, first, taken: 0, deadline }
    }

    /// Asks another endpoint first the next time.
    fn prefer_another(&self) {
        let next = (self.preferred.load(Ordering::Relaxed) + 1) % self.options.endpoints.len();
        self.preferred.store(next, Ordering::Relaxed);
    }

    fn with_key(&self, call: &Call) -> Result<Call, Error> {
        let mut call = call.clone();
        if !call.is_read() && call.key.is_none() {
            let mut random = [0; 16];
            getrandom::fill(&mut random)
                .map_err(|error| Error::Unusable(format!("no random number: {error}")))?;
            call.key = Some(random.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        Ok(call)
    }
}

/// The endpoints that are still to be asked.
struct Turns<'a> {
    endpoints: &'a [Endpoint],
    first: usize,
    taken: usize,
    deadline: Instant,
}

/// One of them.
struct Turn<'a> {
    endpoint: &'a Endpoint,
    place: usize,
    /// How long this try may take.
    share: Duration,
}

impl<'a> Turns<'a> {
    /// The next, unless all had their turn or time is up, which is noted.
    fn next(&mut self, call: &Call, failed: &mut Failed) -> Option<Turn<'a>> {
        let count = self.endpoints.len();
        if self.taken == count {
            return None;
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            failed.out_of_time = true;
            return None;
        }
        // A node that hangs must leave time for the others.
        let fair = (left / (count - self.taken) as u32).max(Duration::from_secs(1));
        let share = call.patience.unwrap_or(fair).min(left);
        let place = (self.first + self.taken) % count;
        self.taken += 1;
        Some(Turn { endpoint: &self.endpoints[place], place, share })
    }
}

/// What has gone wrong so far with one request.
#[derive(Debug, Default)]
struct Failed {
    /// A node said that the cluster cannot now.
    problem: Option<Box<Problem>>,
    /// A request left and no answer came.
    lost: bool,
    may_have_acted: bool,
    out_of_time: bool,
    tried: Vec<Tried>,
}

impl Failed {
    /// Nothing that listens means a wrong address or a cluster that is down: waiting shows that too late. A node that
    /// speaks, or a request that was lost on the way, is worth another round.
    fn is_worth_a_wait(&self) -> bool {
        self.problem.is_some() || self.lost
    }

    /// Takes in what came of one try.
    ///
    /// # Errors
    /// What no other try mends.
    fn hear(&mut self, endpoint: &Endpoint, call: &Call, outcome: Outcome) -> Result<(), Error> {
        match outcome {
            Outcome::Final(error) => return Err(error),
            Outcome::Later(problem) => self.problem = Some(problem),
            Outcome::NotSent(why) => self.note(endpoint, why),
            Outcome::Lost(why) => {
                self.lost = true;
                self.may_have_acted |= !call.is_read();
                self.note(endpoint, why);
            }
        }
        Ok(())
    }

    /// Keeps one line an endpoint: what became of the last try on it.
    fn note(&mut self, endpoint: &Endpoint, why: String) {
        let endpoint = endpoint.to_string();
        self.tried.retain(|tried| tried.endpoint != endpoint);
        self.tried.push(Tried { endpoint, why });
    }

    fn into_error(self) -> Error {
        let Self { problem, lost, may_have_acted, out_of_time, tried } = self;
        match problem {
            // "No quorum" of one node does not undo that another may have taken the write.
            Some(problem) if !may_have_acted => Error::Problem(problem),
            _ if lost || out_of_time => Error::TimedOut { may_have_acted, tried },
            _ => Error::Unreachable { tried },
        }
    }
}

/// Waits before another round; `false` when the deadline comes first.
async fn wait_before(round: u32, deadline: Instant) -> bool {
    let wait = FIRST_WAIT * 2_u32.pow(round - 1);
    if Instant::now() + wait >= deadline {
        return false;
    }
    tokio::time::sleep(wait).await;
    true
}

/// The process has one cryptography provider, and it is ring; who installed it does not matter.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error says that one is installed already, which is what is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
