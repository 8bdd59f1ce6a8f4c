/** Executes a call on a node, with what can happen to it there and on its way. */
import type { FaultTable } from '../faults.ts'
import { FrameworkError, type SimNode, type World } from '../model.ts'
import { wait } from '../wait.ts'
import type { Answer } from './answers.ts'
import { type NodeCosts, USUAL_MS, WORKER_FACTOR } from './costs.ts'
import { type ErrorCode, errorTexts, V4Error } from './errors.ts'
import type { Asked, Call } from './model.ts'

export interface Cluster {
  readonly world: World
  readonly faults: FaultTable
  costsOf(node: string): NodeCosts
  /** Nodes whose executing process hangs until their API restarts. */
  readonly hung: Set<string>
  /** Milliseconds after which a call that the asked node executes ends in 3021. */
  readonly executionLimit: number
}

/** A request before a node is found for it. */
export type Unplaced = Omit<Asked, 'node'>

/** Returns the answer of a node. `entry`: the node whose API received the request. */
export async function runOn(
  cluster: Cluster,
  call: Call,
  asked: Unplaced,
  entry: SimNode,
  node: SimNode,
): Promise<Answer> {
  const { world } = cluster
  const cost = call.cost ?? USUAL_MS
  const costs = cluster.costsOf(node.name)
  try {
    if (node !== entry) {
      await sufferInside(cluster, call, node.name)
      await costs.carryOut(cost)
    } else {
      if (call.inApi !== true) await executing(cluster, call, asked, node.name)
      await costs.execute(entry.type === 'master' ? cost : cost * WORKER_FACTOR)
    }
    if (node.startedAt > world.now() && call.duringRestart !== true) throw notReady(node.name)
    const { restarts } = node
    const answer = call.run({ ...asked, node })
    if (node.restarts !== restarts) cluster.hung.delete(node.name)
    return answer
  } catch (fault) {
    const error = fault instanceof FrameworkError ? new V4Error(isKnown(fault.code) ? fault.code : 1000) : fault
    if (error instanceof V4Error && Object.keys(error.nodes).length === 0) error.nodes = { [node.name]: error.message }
    throw error
  }
}

export function notReady(node: string): V4Error {
  const daemons = ['modulesd', 'analysisd', 'execd', 'db', 'remoted'].map((name) => `wazuh-${name}->restarting`)
  const error = new V4Error(1017)
  return Object.assign(error, { message: `${errorTexts[1017].message} "${node}" (${daemons.join(', ')})` })
}

/** One process executes all calls of a node; a search that is too long keeps it busy for ever. */
async function executing({ hung, executionLimit }: Cluster, call: Call, { query }: Unplaced, node: string) {
  if (call.hangsOver !== undefined && (query.search?.length ?? 0) > call.hangsOver) hung.add(node)
  if (!hung.has(node)) return
  await wait(executionLimit)
  throw new V4Error(3021)
}

/** Faults that a call meets on its way from one node to another. */
async function sufferInside({ faults, hung, executionLimit }: Cluster, call: Call, node: string): Promise<void> {
  const { delay, error, cutOff } = faults.inside(node)
  if (delay !== undefined) await wait(delay)
  if (cutOff !== undefined) {
    await wait(cutOff)
    throw new V4Error(3020)
  }
  const fault = error === undefined ? undefined : faultOf(error, call, node)
  if (fault !== undefined) throw fault
  if (hung.has(node) && call.inApi !== true) {
    await wait(executionLimit)
    throw new V4Error(3021)
  }
}

/** Returns the error of a fault; undefined where status calls are exempt from 1017. */
export function faultOf(code: number, call: Call, node: string): V4Error | undefined {
  if (code === 1017) return call.duringRestart === true ? undefined : notReady(node)
  return new V4Error(isKnown(code) ? code : 1000)
}

function isKnown(code: number): code is ErrorCode {
  return Object.hasOwn(errorTexts, String(code))
}
