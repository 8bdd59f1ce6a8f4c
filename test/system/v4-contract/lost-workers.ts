/**
 * Requests that concern a worker, of each operation that the master passes on, by the facts about the contract. The right
 * answer is that of a second cluster of the same world, whose master knows that the worker is lost.
 */
import type { Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { parseJson } from '../../../src/core/values.ts'
import { type DescribedOperation, describedOperations } from '../../contract/v4-contract/description.ts'
import { CONTACTS, merge, type Settings, startEdge } from '../../support/edge.ts'

/** Of `worker`: 001 and 002. Of the other worker: 003. Of the master: 004 and 000. */
const AGENTS_OF_LOST = ['001', '002']
const ONE_OF_LOST = '001'
const ONE_OF_OTHERS = '003'
const PASSWORD = 'only-for-tests'
/** The master gives a call up long after the edge. Real ones: 200 s. */
const CUT_OFF = { cutOff: 40_000 }
/** A third of the time that applies, and still much longer than a call takes on busy cores. */
export const HANG_MS = 4_000
/** One call that hangs, and one for each node to find the lost one. */
export const FOUND_MS = 3 * HANG_MS

export interface LostRequest {
  readonly operation: string
  /** Whose agents or nodes it names: of the lost worker, of others, or of both; or it names none. */
  readonly names: 'lost' | 'others' | 'both' | 'none'
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly type?: string
}

export interface Answered {
  readonly status: number
  readonly type: string | null
  readonly body: unknown
  readonly ms: number
}

/** Values that a request needs, by the name of its parameter. */
const values: Readonly<Record<string, string>> = {
  component: 'analysis',
  configuration: 'global',
  field: 'os',
  group_id: 'default',
  upgrade_version: 'v4.9.0',
  file_path: '/var/ossec/package.wpk',
  policy_id: 'cis_debian',
}
const bodies: Readonly<Record<string, object>> = { 'PUT /active-response': { command: 'restart-ossec0' } }

/** Returns the requests of all operations that the release has, and the operations that cannot be asked so. */
export function requestsAbout(worker: string, other: string, minor: number): readonly LostRequest[] {
  return describedOperations()
    .filter(({ runsOn, releases }) => runsOn?.includes('through the master') === true && isIn(releases, minor))
    .flatMap((operation) => requestsOf(operation, worker, other))
}

/** Asking for all tokens to be revoked would end the test. */
export const NOT_ASKED: ReadonlySet<string> = new Set(['PUT /security/user/revoke'])

function isIn(releases: DescribedOperation['releases'], minor: number): boolean {
  const { since = '4.3', until = '4.99' } = releases as { since?: string; until?: string }
  return minor >= Number(since.slice(2)) && minor <= Number(until.slice(2))
}

function requestsOf({ endpoint, path, query, body }: DescribedOperation, worker: string, other: string): LostRequest[] {
  if (NOT_ASKED.has(endpoint)) return []
  const [method = '', template = ''] = endpoint.split(' ')
  const needed = Object.entries(query).flatMap(([name, { required }]) =>
    required === true && name !== 'agents_list' ? [`${name}=${encodeURIComponent(values[name] ?? 'x')}`] : [],
  )
  const at = (names: LostRequest['names'], params: Record<string, string>, list?: string): LostRequest => {
    const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? values[name] ?? 'x')
    const all = [...needed, ...(list === undefined ? [] : [list])]
    const bytes = bodies[endpoint]
    const upload = body?.type !== undefined && bytes === undefined ? '<ossec_config></ossec_config>' : undefined
    return {
      operation: endpoint,
      names,
      method,
      path: `${filled}${all.length === 0 ? '' : `?${all.join('&')}`}`,
      ...(bytes && { body: JSON.stringify(bytes), type: 'application/json' }),
      ...(upload && { body: upload, type: 'application/octet-stream' }),
    }
  }
  if ('agent_id' in path) return [at('lost', { agent_id: ONE_OF_LOST }), at('others', { agent_id: ONE_OF_OTHERS })]
  if ('node_id' in path) return [at('lost', { node_id: worker }), at('others', { node_id: other })]
  if ('agents_list' in query) {
    const isNeeded = query.agents_list?.required === true
    return [
      at('lost', {}, `agents_list=${AGENTS_OF_LOST.join(',')}`),
      at('both', {}, `agents_list=${ONE_OF_LOST},${ONE_OF_OTHERS},004`),
      at('others', {}, `agents_list=${ONE_OF_OTHERS},004`),
      at('none', {}, isNeeded ? 'agents_list=all' : undefined),
    ]
  }
  if ('nodes_list' in query) {
    return [
      at('lost', {}, `nodes_list=${worker}`),
      at('both', {}, `nodes_list=${worker},${other},nope`),
      at('others', {}, `nodes_list=${other}`),
      at('none', {}),
    ]
  }
  return [at('none', {})]
}

interface Clusters {
  /** Behind the edge; `worker` is cut off, and the cluster has not noticed. */
  readonly cluster: Simulator
  readonly oracle: Simulator
  readonly worker: string
  readonly other: string
  /** Sends a request through the edge. */
  ask(request: Pick<LostRequest, 'method' | 'path' | 'body' | 'type'>): Promise<Answered>
  /** The same for a user of the manager who may restart all agents, and read one of them. */
  askLimited(request: Pick<LostRequest, 'method' | 'path'>): Promise<Answered>
  /** Sends a request to a master that knows of the loss. */
  askOracle(request: LostRequest): Promise<Answered>
  cutOff(): Promise<void>
}

interface ClustersOptions {
  readonly mode?: 'service' | 'passthrough'
  readonly version?: string
  readonly guard?: boolean
  /** How long calls for a lost worker fail at once, in milliseconds. Absent: as long as it applies. */
  readonly cutOffTime?: number
  readonly more?: Settings
}

const ann = { name: 'ann', password: 'ann-pw' }
/** May restart all agents, and read one of them. */
const kim = {
  name: 'kim',
  password: 'kim-pw',
  roles: [
    { actions: ['agent:restart'], resources: ['agent:id:*'], effect: 'allow' },
    { actions: ['agent:read'], resources: [`agent:id:${ONE_OF_OTHERS}`], effect: 'allow' },
  ],
} as const

/** Starts both clusters, and an edge in front of the first one. */
export async function startClusters(
  t: Test,
  { mode = 'service', version = '4.5.4', guard = true, cutOffTime, more = {} }: ClustersOptions = {},
): Promise<Clusters> {
  const now = new Date()
  const start = async () => {
    const simulator = await startSimulator({
      layout: 'v4',
      agents: 6,
      workers: 2,
      version,
      password: PASSWORD,
      now: () => now,
      v4: {
        users: {
          [ann.name]: { password: ann.password, roles: ['administrator'] },
          [kim.name]: { password: kim.password, roles: kim.roles },
        },
      },
    })
    t.teardown(() => simulator.close())
    const [master, worker, other] = simulator.nodes
    for (const id of AGENTS_OF_LOST) simulator.moveAgent(id, worker?.name ?? '')
    simulator.moveAgent(ONE_OF_OTHERS, other?.name ?? '')
    simulator.moveAgent('004', master?.name ?? '')
    return simulator
  }
  const [cluster, oracle] = [await start(), await start()]
  const [, { name: worker } = { name: '' }, { name: other } = { name: '' }] = cluster.nodes
  await oracle.faults.set(worker, { clusterDown: true })
  const isService = mode === 'service'
  const edge = await startEdge({
    nodes: cluster.nodes,
    password: PASSWORD,
    times: {
      cluster: {
        hangTimeout: HANG_MS,
        // The edge knows of a loss as long as its calls for itself find it.
        contactTimes: CONTACTS,
        ...(cutOffTime !== undefined && { ejection: { cutOff: { baseTime: cutOffTime, maxTime: cutOffTime } } }),
      },
    },
    settings: merge(more, {
      listen: { contract: 'v4' },
      cluster: {
        layout: 'v4',
        discover: false,
        guards: { lostNodes: guard },
        ...(!isService && { credentials: { mode, username: null, password: null } }),
      },
      ...(!isService && { access: { users: null, roles: null } }),
    }),
  })
  t.teardown(() => edge.close())
  const masterUrl = oracle.nodes[0]?.url ?? ''
  const oracleToken = await logIn(masterUrl, `Basic ${btoa(`${ann.name}:${ann.password}`)}`)
  const basic = isService ? edge.authorization('admin') : `Basic ${btoa(`${ann.name}:${ann.password}`)}`
  const token = await logIn(edge.url, basic)
  return {
    cluster,
    oracle,
    worker,
    other,
    ask: (request) => send(edge.url, token, request),
    askLimited: async (request) =>
      send(edge.url, await logIn(edge.url, `Basic ${btoa(`${kim.name}:${kim.password}`)}`), request),
    askOracle: (request) => send(masterUrl, oracleToken, request),
    cutOff: () => cluster.faults.set(worker, CUT_OFF),
  }
}

async function logIn(url: string, authorization: string): Promise<string> {
  const login = { method: 'POST', headers: { authorization } }
  const response = await fetch(`${url}/security/user/authenticate?raw=true`, login)
  return `Bearer ${await response.text()}`
}

async function send(
  url: string,
  authorization: string,
  { method, path, body, type }: Pick<LostRequest, 'method' | 'path' | 'body' | 'type'>,
): Promise<Answered> {
  const started = performance.now()
  const headers = { authorization, ...(type !== undefined && { 'content-type': type }) }
  const response = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) })
  const text = await response.text()
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: parseJson(text) ?? text,
    ms: performance.now() - started,
  }
}

/** Returns what is compared of an answer. Links to the documentation of a release, and ports of the nodes, are not. */
export function plain({ status, type, body }: Answered): unknown {
  const text = JSON.stringify(body).replaceAll(/wazuh\.com\/(?:current|4\.\d+)\//g, 'wazuh.com/current/')
  return { status, type, body: JSON.parse(text.replaceAll(/"port":\d{5}/g, '"port":55000')) as unknown }
}
