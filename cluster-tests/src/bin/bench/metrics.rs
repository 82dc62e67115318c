//! A node's `/metrics`, scraped and read: sums of counters, and quantiles of what came between two scrapes.

use anyhow::{Result, ensure};
use campanile_cluster_tests::api::Api;

/// One scrape.
#[derive(Debug, Clone)]
pub(crate) struct Scrape(String);

/// A cumulative histogram: upper bound in seconds, count up to it.
#[derive(Debug, Clone)]
pub(crate) struct Histogram(Vec<(f64, f64)>);

impl Scrape {
    pub(crate) async fn of(api: &Api) -> Result<Self> {
        let reply = api.get("/metrics").await?;
        ensure!(reply.status == 200, "/metrics of {}: {}", api.base(), reply.status);
        Ok(Self(reply.body.as_str().unwrap_or_default().to_owned()))
    }

    /// The sum over all labels of a metric.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.lines(name).map(|(_, value)| value).sum()
    }

    pub(crate) fn histogram(&self, name: &str) -> Histogram {
        let bound = |labels: &str| {
            let text = labels.split("le=\"").nth(1)?.split('"').next()?;
            if text == "+Inf" { Some(f64::INFINITY) } else { text.parse().ok() }
        };
        let name = format!("{name}_bucket");
        let buckets = self.lines(&name);
        Histogram(buckets.filter_map(|(labels, count)| Some((bound(labels)?, count))).collect())
    }

    /// Labels and value of each line of a metric.
    fn lines<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        self.0.lines().filter_map(move |line| {
            let rest = line.strip_prefix(name)?;
            let (labels, value) = rest.rsplit_once(' ')?;
            let whole_name = labels.is_empty() || labels.starts_with('{');
            whole_name.then(|| value.parse().ok().map(|value| (labels, value)))?
        })
    }
}

impl Histogram {
    /// What came since an earlier scrape of the same node.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let earlier =
            |bound: f64| before.0.iter().find(|(other, _)| *other == bound).map_or(0.0, |(_, count)| *count);
        Self(self.0.iter().map(|(bound, count)| (*bound, count - earlier(*bound))).collect())
    }

    pub(crate) fn count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// In milliseconds, the upper bound of the bucket that holds the quantile: never better than the truth.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        let wanted = self.count() * quantile;
        let bucket = self.0.iter().find(|(_, count)| *count >= wanted);
        bucket.map_or(f64::NAN, |(bound, _)| bound * 1000.0)
    }
}
