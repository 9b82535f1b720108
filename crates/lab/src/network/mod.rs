//! A bottleneck that TCP and TFRC flows share, as the papers' simulations have it: what experiments
//! say of it, and what they measure of it.

mod bottleneck;
mod edition;
mod flows;
mod impairments;
mod loss_reports;
mod pace;
mod protocol;
mod queue;
mod record;
mod run;
mod stacks;
mod stage;
mod tcp;
mod tfrc_rules;
mod udp;

pub(crate) use bottleneck::{Bottleneck, link};
pub use edition::{Edition, Timeout};
pub use flows::Flows;
pub(crate) use flows::{Member, Speaks};
pub use impairments::{Impairments, Losses};
pub use loss_reports::LossReports;
pub use pace::Pace;
pub use protocol::Protocol;
pub use queue::Queue;
pub(crate) use record::Measured;
pub(crate) use run::{FLOW_STREAMS, Run, advance, reached};
pub(crate) use stacks::{Stacks, require_packet, require_packet_from};
pub use stage::Stage;
pub use tcp::{Kernel, Tcp, TcpVariant};
pub use tfrc_rules::{Feedback, Tfrc};
pub use udp::Udp;
