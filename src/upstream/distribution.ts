/**
 * Whether a node distributes requests itself. A node that does answers `/cluster/:node_id/info` for every node of the
 * cluster. With the manager's distribution switched off it answers 1000, also under its own name, as recorded on a real
 * cluster. No other difference is independent of the agents that a node has.
 */
import { parseEnvelope } from '../core/envelope.ts'
import type { LayoutChange } from '../core/events.ts'
import type { CallNode, ClusterView, NodeCall, NodeResult } from '../core/node-call.ts'
import { runTask } from '../core/turns.ts'
import { layoutRules } from '../layouts/layout-rules.ts'
import { toEdgeResponse } from '../layouts/v3.ts'
import type { ClusterLog } from './options.ts'
import { createOwnCall } from './probes.ts'

export interface DistributionProbe {
  readonly node: string
  /** Milliseconds. */
  readonly timeout: number
  readonly caller: string
  readonly credentials?: NodeCall['credentials']
}

/** The code of a node without distribution. A node that cannot answer for other reasons has other codes. */
const INTERNAL_ERROR = 1000

/** Returns `unknown` if the node does not answer, or with another error. */
export async function probeDistribution(call: CallNode, probe: DistributionProbe): Promise<'on' | 'off' | 'unknown'> {
  const error = await askAsClusterNode(call, probe)
  if (error === 0) return 'on'
  if (error !== INTERNAL_ERROR) return 'unknown'
  // The node may have an internal error for another reason. Then it has it on this path too.
  const twin = createCall(probe, '/manager/info', 'GET /manager/info')
  return (await errorNumberIn(await call(twin))) === 0 ? 'off' : 'unknown'
}

/** Returns the error number of the response, and `undefined` if there is none. */
async function askAsClusterNode(call: CallNode, probe: DistributionProbe): Promise<number | undefined> {
  const path = `/cluster/${encodeURIComponent(probe.node)}/info`
  return errorNumberIn(await call(createCall(probe, path, 'GET /cluster/:node_id/info')))
}

function createCall({ credentials, ...probe }: DistributionProbe, path: string, endpoint: string): NodeCall {
  return createOwnCall({ ...probe, path, endpoint, requestId: 'distribution', ...(credentials && { credentials }) })
}

async function errorNumberIn(result: NodeResult): Promise<number | undefined> {
  if (!result.ok) return undefined
  const translated = await runTask(toEdgeResponse(result.response))
  return translated.ok ? parseEnvelope(translated.response).error : undefined
}

/** Resolves to whether the node is known to distribute requests itself. Never rejects. */
type DistributionCheck = (node: string, credentials: NodeCall['credentials']) => Promise<boolean>

interface DistributionCheckPorts {
  readonly call: CallNode
  readonly view: Pick<ClusterView, 'nodes' | 'layoutOf'>
  readonly log: ClusterLog
  /** Monotonic milliseconds. */
  readonly clock?: () => number
}

/** A node answers within half a second. Requests wait for the answer, so a node that hangs must not delay them much. */
const TIMEOUT_MS = 2_000
/** How long an answer is used, in milliseconds. A node that was corrected is used again soon. */
const LIFETIME_MS = 60_000
const SHORT_LIFETIME_MS = 5_000

/**
 * Creates the check for distribution mode `edge`. All requests share an answer, which is used for a minute. A node
 * without other nodes is not asked: it cannot distribute anything, whatever its setting. Neither is a node of the v4
 * layout, which always distributes.
 */
export function createDistributionCheck({ call, view, log, clock }: DistributionCheckPorts): DistributionCheck {
  const now = clock ?? (() => performance.now())
  const answers = new Map<string, { readonly distributes: Promise<boolean>; until: number }>()
  const warned = new Set<string>()
  const ask = (node: string, credentials: NodeCall['credentials']): Promise<boolean> => {
    const answered = askAsClusterNode(call, { node, timeout: TIMEOUT_MS, caller: 'distribution', credentials })
    const distributes = answered.then((error) => error === 0)
    const asked = { distributes, until: Number.POSITIVE_INFINITY }
    answers.set(node, asked)
    void answered.then((error) => {
      asked.until = now() + (error === INTERNAL_ERROR ? LIFETIME_MS : SHORT_LIFETIME_MS)
      if (error === 0 && !warned.has(node)) log('warn', 'node distributes requests itself', { node, setting: SETTING })
      if (error === 0) warned.add(node)
      else warned.delete(node)
    })
    return distributes
  }
  return async (node, credentials) => {
    if (view.nodes().length < 2) return false
    if (layoutRules[view.layoutOf(node) ?? 'v3'].distributes) return true
    const known = answers.get(node)
    return known !== undefined && now() < known.until ? known.distributes : ask(node, credentials)
  }
}

const SETTING = 'cluster.distribution'

/** To be called when the layout of a node is recognised. */
export function warnOfUnusedDistribution(
  { layout, isMaster }: LayoutChange,
  distribution: 'manager' | 'edge',
  log: ClusterLog,
): void {
  if (isMaster && layoutRules[layout].distributes && distribution === 'edge')
    log('warn', 'mode edge has no effect: in the v4 layout the master answers for all nodes', { setting: SETTING })
}
