/** Every call that the dialect of the v4 layout may send: each record with each of its parameters. */

import { type Source, sources } from '../../../src/collections/sources.ts'
import type { V3Endpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import type { NodeCall, NodeResponse } from '../../../src/core/node-call.ts'
import type { EdgeRequest, RequestBody } from '../../../src/core/request.ts'
import { v4 } from '../../../src/layouts/v4/index.ts'
import { clusterViewOf } from '../../support/cluster-view.ts'
import { bodies, pathsOf, pathValues, sampleOf, UPLOAD } from '../../support/sample-values.ts'
import { edgeRequest } from '../../unit/upstream/edge-request.ts'

export type Reply = Pick<NodeResponse, 'status' | 'type' | 'body'>
/** Returns what the node refuses a call with; `undefined`: the node carries it out. */
export type Refuse = (call: NodeCall) => { readonly status: number; readonly detail: string } | undefined

export const translated: readonly V3Endpoint[] = catalogue.filter(({ translation }) => translation !== undefined)

/** The fields that clients may name, under their v3 names. */
export function fieldsOf({ translation }: V3Endpoint): readonly string[] {
  const response = translation?.response
  const name = (response !== undefined && 'rows' in response && response.rows?.source) || ''
  const source: Source | undefined = (sources as Record<string, Source>)[name]
  if (source === undefined) return []
  return source.engine === 'database' ? Object.keys(source.fields) : (source.sortable ?? [])
}

/** Paths of files of each kind. */
const FILES = ['etc/ossec.conf', 'etc/rules/local_rules.xml', 'etc/decoders/local_decoder.xml', 'etc/lists/audit-keys']

/** The requests of a record: the least one, one with each parameter, and one with all. */
export function requestsOf(endpoint: V3Endpoint): readonly EdgeRequest[] {
  const { method, path, query } = endpoint
  const params = paramsOf(endpoint)
  const names = Object.keys(query).filter((name) => query[name]?.edgeOnly === undefined)
  const isFiles = path.endsWith('/files') && query.path?.required !== undefined
  const bases = (isFiles ? FILES : ['']).map((file) => {
    const needed = names.filter((name) => query[name]?.required !== undefined)
    return Object.fromEntries(
      needed.map((name) => [name, name === 'path' && isFiles ? file : sampleValue(endpoint, name)]),
    )
  })
  const queries = bases.flatMap((base) => [
    base,
    ...names.map((name) => ({ ...base, [name]: base[name] ?? sampleValue(endpoint, name) })),
    { ...Object.fromEntries(names.map((name) => [name, sampleValue(endpoint, name)])), ...base },
  ])
  const body = bodyOf(endpoint)
  const create = (asked: Readonly<Record<string, string>>, waitForComplete = false) =>
    edgeRequest(method, path, { params, query: asked, waitForComplete, ...(body && { body }) })
  return [...queries.map((asked) => create(asked)), ...bases.map((base) => create(base, true))]
}

/** Returns a legal value for each parameter of the path. */
export function paramsOf({ method, path, params }: V3Endpoint): Readonly<Record<string, string>> {
  const own = pathsOf[`${method} ${path}`] ?? {}
  return Object.fromEntries(
    Object.keys(params).map((name) => {
      const value = own[name] ?? pathValues[name] ?? 'a'
      return [name, name === 'agent_id' ? value.padStart(3, '0') : value]
    }),
  )
}

function sampleValue(endpoint: V3Endpoint, name: string): string {
  const param = endpoint.query[name]
  const [field = 'id'] = fieldsOf(endpoint)
  if (param?.kind === 'sort') return `-${field}`
  if (param?.kind === 'select') return field
  if (param?.kind === 'query') return `${field}=1`
  if (name === 'limit' || name === 'offset') return '7'
  return param?.allowed?.[0] ?? sampleOf(name, param?.kind ?? '')
}

function bodyOf(endpoint: V3Endpoint): RequestBody | undefined {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body === undefined) return undefined
  if (body.kind === 'upload')
    return { kind: 'upload', type: body.types[0] ?? 'application/xml', bytes: Buffer.from(UPLOAD) }
  return { kind: 'fields', fields: bodies[`${endpoint.method} ${endpoint.path}`] ?? {} }
}

export interface Asking {
  /** The version that the node shows. */
  readonly version: string
  readonly refuse: Refuse
  /** The release of the node is known before the request. */
  readonly knowsRelease?: true
}

/** Returns the calls of a request, and the status of the v3 response if there is one. */
export async function callsOf(request: EdgeRequest, { version, refuse, knowsRelease }: Asking) {
  const calls: { readonly call: NodeCall; readonly fault: ReturnType<Refuse> }[] = []
  const call = async (nodeCall: NodeCall) => {
    const fault = refuse(nodeCall)
    calls.push({ call: nodeCall, fault })
    const reply = fault === undefined ? replyTo(nodeCall, version) : refusal(fault)
    return { ok: true as const, response: { node: nodeCall.node, ...reply } }
  }
  const nodes = ['master', 'worker-1'].map((name) => {
    return { name, type: name === 'master' ? 'master' : 'worker', addressed: true } as const
  })
  const view = clusterViewOf(nodes, { releaseOf: () => (knowsRelease ? version : undefined) })
  const tools = { call, timeout: 30_000, master: 'master', view }
  try {
    await v4.ask(request, { node: 'master', path: request.endpoint.path }, tools)
  } catch (error) {
    if (!(error instanceof EdgeError) || error.code === 949) throw error
  }
  return calls
}

function refusal({ status, detail }: { readonly status: number; readonly detail: string }): Reply {
  return {
    status,
    type: 'application/problem+json',
    body: Buffer.from(JSON.stringify({ title: 'Refused', detail })),
  }
}

/** One row that has what the further calls of a request need. */
const ROW = {
  id: '001',
  name: 'master',
  status: 'Updated',
  group: ['default'],
  filename: 'local_rules.xml',
  relative_dirname: 'etc/rules',
  node_name: 'master',
}

function replyTo({ path, method, expect }: NodeCall, version: string): Reply {
  const { pathname } = new URL(path, 'http://node')
  const folder = /^\/(rules|decoders|lists)\/files$/.exec(pathname)?.[1]
  const file = { rules: 'local_rules.xml', decoders: 'local_decoder.xml', lists: 'audit-keys' }[folder ?? ''] ?? ''
  const row = folder === undefined ? ROW : { ...ROW, filename: file, relative_dirname: `etc/${folder}` }
  if (expect === 'text') return { status: 200, type: 'application/xml', body: Buffer.from('<a/>') }
  // After a removal, the node no longer lists the agent.
  const isRemoved = path.startsWith('/agents?') && path.endsWith('&select=id&limit=1')
  const facts = { api_version: version, enabled: 'yes', running: 'yes', connection: {}, agent_status: {} }
  const items = method === 'DELETE' || method === 'PUT' ? ['001'] : isRemoved ? [] : [row]
  const data = { ...facts, affected_items: items, total_affected_items: 1, total_failed_items: 0, failed_items: [] }
  return {
    status: 200,
    type: 'application/json',
    body: Buffer.from(JSON.stringify({ data, message: '', error: 0 })),
  }
}
