/** What one node shows about itself and about the account of the edge, for `manager-edge check --connect`. */
import type { CallNode, Layout, NodeResponse } from '../core/node-call.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'
import { createOwnCall, type OwnCall } from './probes.ts'

/** `timeout` in milliseconds. */
export type NodeCheckOptions = Pick<OwnCall, 'node' | 'timeout' | 'caller' | 'credentials'>

/** Returns the version without a leading `v`; `undefined` if the response does not contain one. */
export function versionIn(response: NodeResponse, layout: Layout): string | undefined {
  const data = ownField(bodyOf(response), 'data')
  const text = layout === 'newer' ? ownText(data, 'api_version') : data
  return typeof text === 'string' ? /^v?([0-9]+(?:\.[0-9]+){1,3})$/.exec(text)?.[1] : undefined
}

/** Returns the error code in a response of either layout; 0 if there is none. */
export function errorCodeIn(response: NodeResponse): number {
  const error = ownField(bodyOf(response), 'error')
  return typeof error === 'number' ? error : 0
}

/** `some`: the node leaves out of lists what the account may not do, without an error. */
export type Extent = 'all' | 'some' | 'none'

/** An action on all objects of a type, as policies of the manager name both. */
export interface Right {
  readonly action: string
  readonly on: string
}

/** How far an account may do something. */
export type AccountRights = (right: Right) => Extent

/** Returns the rights of the account; `undefined` if the node does not show them in a known form. Newer layout only. */
export async function readAccountRights(call: CallNode, options: NodeCheckOptions): Promise<AccountRights | undefined> {
  const path = '/security/users/me/policies'
  const result = await call(createOwnCall({ ...options, path, endpoint: `GET ${path}`, requestId: 'check' }))
  if (!result.ok || result.response.status !== 200) return undefined
  const policies = ownField(bodyOf(result.response), 'data')
  const mode = ownField(policies, 'rbac_mode')
  if (mode !== 'white' && mode !== 'black') return undefined
  return ({ action, on }) => extentOf(ownField(policies, action), on, mode)
}

/** `resources`: the effect by the name of the resource, with `*` for all objects of a type. */
function extentOf(resources: unknown, on: string, mode: 'white' | 'black'): Extent {
  const effects = typeof resources === 'object' && resources !== null ? Object.entries(resources) : []
  const denied = effects.filter(([, effect]) => effect === 'deny').map(([name]) => name)
  const allowed = effects.filter(([, effect]) => effect === 'allow').map(([name]) => name)
  if (denied.some((name) => isAllOf(on, name))) return 'none'
  if (mode === 'black' || allowed.some((name) => isAllOf(on, name))) return denied.length === 0 ? 'all' : 'some'
  return allowed.length === 0 ? 'none' : 'some'
}

/** Each agent is a member of a group. */
function isAllOf(on: string, name: string): boolean {
  return name === `${on}:*` || name === '*:*:*' || (on === 'agent:id' && name === 'agent:group:*')
}

function bodyOf({ body }: NodeResponse): unknown {
  return Buffer.isBuffer(body) ? parseJson(body) : undefined
}
