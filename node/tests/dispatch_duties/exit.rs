//! An exit that is given: what it is handed, and what is made of what it brings back.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use campanile::dispatch::classify::Failure;
use campanile::dispatch::exit::{Answer, Exit, Lost, Parcel};
use campanile_core::attempt::Verdict;
use campanile_core::event::Event;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};

use super::stage::{Stage, on_demand};

/// Gives these answers one after the other, and keeps what it was handed.
#[derive(Debug)]
struct Played {
    answers: Mutex<Vec<Result<Answer, Lost>>>,
    handed: Mutex<Vec<Parcel>>,
}

impl Exit for Played {
    fn send(&self, parcel: Parcel) -> BoxFuture<'_, Result<Answer, Lost>> {
        self.handed.lock().unwrap().push(parcel);
        let answer = self.answers.lock().unwrap().remove(0);
        async move { answer }.boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_firing_goes_out_by_the_exit_that_is_given_and_its_answers_are_read_as_any() {
    let broken = stream::iter([Ok(Bytes::from_static(b"half an ")), Err("the cable was cut".into())]).boxed();
    let answers = vec![
        Err(Lost::new(Failure::NotConnected, "nobody is there")),
        Ok(Answer::whole(503, Some("0".into()), Bytes::from_static(b"later"))),
        Ok(Answer { status: 200, retry_after: None, body: broken }),
    ];
    let exit = Arc::new(Played { answers: Mutex::new(answers), handed: Mutex::default() });
    let stage = Stage::leaving_by(&(Arc::clone(&exit) as Arc<dyn Exit>));
    // No egress stands before a given exit: this name is never looked up.
    stage.put("billing/run", &on_demand("http://receiver.world/hook")).await;
    let id = stage.trigger("billing/run").await;
    let events = stage.settled(3).await;
    let told = events.iter().filter_map(|event| match event {
        Event::Settled { report: Some(report), .. } => {
            Some((report.verdict, report.status, report.error.to_string(), report.output.to_string()))
        }
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told[0], (Verdict::NotSent, None, "nobody is there".into(), String::new()));
    assert!(matches!(told[1].0, Verdict::Retry { not_before: Some(_) }), "{told:?}");
    assert_eq!((told[1].1, told[1].3.as_str()), (Some(503), "later"));
    let cut = "the answer broke off: the cable was cut".to_owned();
    assert_eq!(told[2], (Verdict::Succeeded, Some(200), cut, "half an ".into()));
    let handed = exit.handed.lock().unwrap().clone();
    let attempts: Vec<_> = handed.iter().map(|parcel| &parcel.headers["campanile-attempt"]).collect();
    assert_eq!(attempts, ["1", "2", "3"]);
    assert!(handed.iter().all(|parcel| parcel.headers["campanile-firing"] == id.to_string().as_str()));
    assert_eq!((handed[0].url.path(), &handed[0].body[..]), ("/hook", &b"{\"kind\":\"full\"}"[..]));
    stage.close().await;
}
