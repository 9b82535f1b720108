//! Selects the metrics that a comparison of peers shows.

/// What is set side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerComparison {
    /// What names of metrics end in, and what people read. The first is compared with all others.
    pub peers: Vec<(String, String)>,
    /// The columns.
    pub measures: Vec<Measure>,
    /// A row a peer, each.
    pub rows: Vec<ComparedRow>,
}

/// A quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What names of metrics begin with.
    pub name: String,
    /// The quantity, with its unit.
    pub heading: String,
    /// Which values are wanted.
    pub better: Better,
}

/// Which of two values is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The larger.
    More,
    /// The smaller.
    Less,
}

/// A condition under which the peers are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedRow {
    /// For people.
    pub title: String,
    /// What stands between measure and peer in names of metrics; the first that has a metric counts.
    pub keys: Vec<String>,
    /// Flows that share the link: name, and what the metric of the rate begins with.
    pub shares: Vec<(String, String)>,
}
