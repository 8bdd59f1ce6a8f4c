import type { Endpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { ClusterView } from '../core/node-call.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { traceSync } from '../core/trace.ts'
import { ownField } from '../core/values.ts'
import type { Owners } from './agent-owners.ts'
import { act, unasked } from './node-outcome.ts'
import { joinAffected } from './rules/affected.ts'
import { joinMessages } from './rules/message.ts'
import { joinVerdicts } from './rules/verdict.ts'
/**
 * What many nodes must do, or judge, where they do not distribute by themselves: each is asked for its own part, once.
 * No part is ever sent again, and which node did not act is always said.
 */

export interface JoinActsPorts {
  readonly forward: Handler
  /** The road of reads. */
  readonly read: Handler
  readonly view: ClusterView
  readonly owners: Pick<Owners, 'verifiedOwners' | 'membersOf'>
  readonly records: {
    /** `POST /agents/restart` */
    readonly restart: Endpoint
    /** `GET /cluster/:node_id/configuration/validation` */
    readonly validation: Endpoint
  }
}

/** Throws 931 when owners cannot be learnt, 932 and 933 when some nodes acted and others did not. */
export function joinActs(ports: JoinActsPorts): Handler {
  const { forward, view } = ports
  return async (ask) => {
    const { target } = ask.endpoint
    if (target.kind === 'agentOwners')
      return target.ids === 'group' ? group(ports, ask) : listed(ports, ask, idsOf(ask))
    if (isVerdict(ask)) return verdict(ports, ask)
    const acts = await Promise.all(view.nodes().map(({ name }) => act(forward, name, { ...ask, node: name })))
    return traceSync(ask.trace, 'merge', () => joinMessages(acts))
  }
}

/** Mode `manager`: the cluster hands on what is to be done, but hears only the first worker that judges. */
export function joinVerdict(ports: Pick<JoinActsPorts, 'read' | 'forward' | 'view' | 'records'>): Handler {
  const { view, forward } = ports
  return (ask) => (isVerdict(ask) && view.nodes().length > 1 ? verdict(ports, ask) : forward(ask))
}

function isVerdict({ endpoint: { target } }: EdgeRequest): boolean {
  return target.kind === 'everyNode' && target.merge === 'verdict'
}

async function verdict({ read, view, records }: Pick<JoinActsPorts, 'read' | 'view' | 'records'>, ask: EdgeRequest) {
  const ofNode = (name: string): EdgeRequest => ({ ...ask, endpoint: records.validation, params: { node_id: name } })
  const acts = await Promise.all(view.nodes().map(({ name }) => act(read, name, ofNode(name))))
  return traceSync(ask.trace, 'merge', () => joinVerdicts(acts))
}

/**
 * Each node would claim to have restarted all members, those of other nodes too (contract, wire.md): so each is given
 * the ids of its own. Only the master says what there is to say of a group that has none, or does not exist.
 */
async function group(ports: JoinActsPorts, ask: EdgeRequest): Promise<EdgeResponse> {
  const found = await ports.owners.membersOf(ask.params.group_id ?? '', ask)
  const members = 'refusal' in found ? [] : [...found.places.keys()]
  if ('refusal' in found || members.length === 0) return ports.forward({ ...ask, node: ports.view.master().name })
  const ids = { ...ask, endpoint: ports.records.restart, params: {}, query: {} }
  return shared(ports, ids, members, found.places)
}

async function listed(ports: JoinActsPorts, ask: EdgeRequest, ids: readonly string[]): Promise<EdgeResponse> {
  // Of no agents there is only what the master says of that.
  if (ids.length === 0) return ports.forward({ ...ask, node: ports.view.master().name })
  return shared(ports, ask, ids, await ports.owners.verifiedOwners(ids, ask))
}

async function shared(
  { forward, view }: JoinActsPorts,
  ask: EdgeRequest,
  ids: readonly string[],
  places: ReadonlyMap<string, string | EdgeError>,
): Promise<EdgeResponse> {
  const byNode = new Map<string, string[]>(view.nodes().map(({ name }) => [name, []]))
  const homeless: { readonly id: string; readonly fault: EdgeError }[] = []
  for (const id of ids) {
    const place = places.get(id) ?? view.master().name
    if (place instanceof EdgeError) homeless.push({ id, fault: place })
    else byNode.set(place, [...(byNode.get(place) ?? []), id])
  }
  const asked = [...byNode].filter(([, own]) => own.length > 0)
  const shares = await Promise.all(
    asked.map(async ([node, own]) => ({ ids: own, act: await act(forward, node, { ...ask, ...bodyOf(own), node }) })),
  )
  const lost = homeless.map(({ id, fault }) => ({ ids: [id], act: unasked(fault) }))
  return traceSync(ask.trace, 'merge', () => joinAffected(ids, [...shares, ...lost]))
}

function bodyOf(ids: readonly string[]): Pick<EdgeRequest, 'body'> {
  return { body: { kind: 'fields', fields: { ids } } }
}

/** A list, or text with commas; canonical already. An agent that is named twice is to be told once. */
function idsOf({ body }: EdgeRequest): readonly string[] {
  const ids = body?.kind === 'fields' ? ownField(body.fields, 'ids') : undefined
  return [...new Set(Array.isArray(ids) ? ids.map(String) : String(ids ?? '').split(','))]
}
