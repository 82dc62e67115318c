//! `/v1/cluster`: who is in it, who leads, and the orders that change that. `/v1/whoami`: who asks.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use campanile_core::id::NodeId;

use super::answer::{Answered, json, ok};
use super::query::Params;
use super::{App, Principal};
use crate::problem::Problem;
use crate::wire::cluster::{AddNode, AddedNode, Cluster, Transfer, Whoami, read_add_node, read_transfer};
use crate::wire::payload::Body;

/// The cluster, as the node that answers sees it. Needs no majority.
#[utoipa::path(
    get, path = "/v1/cluster", operation_id = "get_cluster", tag = "cluster",
    responses((status = 200, description = "Nodes, leader, progress.", body = Cluster)),
)]
pub(crate) async fn get(State(app): State<App>, uri: Uri) -> Answered {
    let mut params = Params::of(uri.query());
    params.consistency()?;
    params.close()?;
    ok(&app.service.cluster(&app.service.quorum().view()))
}

/// Admit a node under an id that was never given before.
#[utoipa::path(
    post, path = "/v1/cluster/nodes", operation_id = "add_node", tag = "cluster",
    request_body = AddNode,
    responses((status = 201, description = "The node's id.", body = AddedNode)),
)]
pub(crate) async fn add_node(State(app): State<App>, uri: Uri, body: Bytes) -> Answered {
    Params::of(uri.query()).close()?;
    let order = read_add_node(&Body::parse(&body)?)?;
    Ok(json(StatusCode::CREATED, &app.service.add_node(order).await?))
}

/// Remove a node from the cluster.
#[utoipa::path(
    delete, path = "/v1/cluster/nodes/{id}", operation_id = "remove_node", tag = "cluster",
    params(("id" = u64, Path)),
    responses((status = 204, description = "The node is no member any more.")),
)]
pub(crate) async fn remove_node(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Answered {
    Params::of(uri.query()).close()?;
    let node =
        id.parse().map_err(|_| Problem::not_found(format!("{id:?} is no node id: those are numbers")))?;
    app.service.remove_node(NodeId(node)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Hand the leadership over.
#[utoipa::path(
    post, path = "/v1/cluster/transfer", operation_id = "transfer_leadership", tag = "cluster",
    request_body(content = Transfer, description = "May be `{}`: to whoever is furthest."),
    responses((status = 202, description = "The transfer has begun.", body = Cluster)),
)]
pub(crate) async fn transfer(State(app): State<App>, uri: Uri, body: Bytes) -> Answered {
    Params::of(uri.query()).close()?;
    let order = read_transfer(&Body::parse(&body)?)?;
    app.service.transfer(&order).await?;
    Ok(json(StatusCode::ACCEPTED, &app.service.cluster(&app.service.quorum().view())))
}

/// Who asks.
#[utoipa::path(
    get, path = "/v1/whoami", operation_id = "whoami", tag = "cluster",
    responses((status = 200, description = "The principal of the token.", body = Whoami)),
)]
pub(crate) async fn whoami(State(app): State<App>, principal: Extension<Principal>, uri: Uri) -> Answered {
    Params::of(uri.query()).close()?;
    ok(&Whoami { principal: principal.name.clone(), node: app.service.quorum().status().node.0 })
}
