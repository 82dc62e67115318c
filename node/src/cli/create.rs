//! `campanile schedule create`: a first schedule from flags.

use super::Io;
use super::args::{CreateArgs, Format};
use super::document;
use super::failure::Failure;
use super::session::{payload, print_one, tell_warnings};
use crate::client::draft::{Draft, QueueDraft, SpecDraft, TargetDraft, WebhookDraft};
use crate::client::{Call, Client, Condition};

pub(super) async fn run(
    client: &Client,
    args: &CreateArgs,
    format: Format,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let draft = draft(args, io)?;
    if args.print {
        return print(io, format, &draft);
    }
    let answer = client.send(&Call::put(draft.path(), draft.to_json()).only_if(Condition::Absent)).await?;
    print_one(io, format, &answer.body, args.name.as_str(), |io, schedule| {
        writeln!(io.out, "created {}", args.name)?;
        if let Some(next) = schedule.pointer("/status/next/0").and_then(serde_json::Value::as_str) {
            io.say(&format!("next run {}", super::cell::plain(next)));
        }
        Ok(())
    })?;
    tell_warnings(io, args.name.as_str(), answer.body.pointer("/status/warnings"));
    Ok(())
}

fn print(io: &mut Io<'_>, format: Format, draft: &Draft) -> Result<(), Failure> {
    // A definition has no columns: what can be put again is the form for people, too.
    let format = if format == Format::Table { Format::Yaml } else { format };
    print_one(io, format, &draft.to_json(), &draft.name, |io, value| {
        Ok(write!(io.out, "{}", document::yaml(value)?)?)
    })
}

fn draft(args: &CreateArgs, io: &mut Io<'_>) -> Result<Draft, Failure> {
    let crons = args.cron.iter().map(|pattern| SpecDraft::cron(pattern, &args.tz));
    let everies = args.every.iter().map(|every| SpecDraft::every(*every));
    let ats = args.at.iter().map(|at| SpecDraft::at(*at));
    let mut draft = Draft::new(&args.name, crons.chain(everies).chain(ats).collect(), "");
    draft.description.clone_from(&args.description);
    draft.labels = args.label.iter().cloned().collect();
    draft.overlap.clone_from(&args.overlap);
    draft.payload = args.payload.as_deref().map(|text| payload(io, text)).transpose()?;
    draft.target = target(args);
    Ok(draft)
}

fn target(args: &CreateArgs) -> TargetDraft {
    if let Some(name) = &args.queue {
        return TargetDraft::Queue(QueueDraft { name: name.clone(), priority: args.priority });
    }
    TargetDraft::Webhook(WebhookDraft {
        // One of the two is there: the flags are a group.
        url: args.url.clone().unwrap_or_default(),
        method: args.method.clone(),
        headers: args.header.iter().cloned().collect(),
        timeout: args.attempt_timeout.map(|timeout| timeout.to_string()),
    })
}
