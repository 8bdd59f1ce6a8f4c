/** Starts a simulated cluster as a process, with a fault proxy in front of each node. */
import { once } from 'node:events'
import type { Fault as NodeFault, SimulatorOptions } from '../../../packages/simulator/src/index.ts'
import { forkScript } from '../../support/typescript/script.ts'
import { type FaultProxy, startFaultProxy } from '../proxy.ts'
import { PASSWORD } from './edge-process.ts'

export interface ClusterCommand {
  readonly id: number
  /** Absent: a report is asked for. */
  readonly node?: string
  readonly fault?: NodeFault
}

export interface ClusterReport {
  /** Calls since the last report, as `worker-1 GET /agents` → number. */
  readonly calls: Readonly<Record<string, number>>
  /** Maximum of concurrent requests since the start, by node. */
  readonly mostInFlight: Readonly<Record<string, number>>
  /** Requests that nodes refused since the start because they were over their limits (429). */
  readonly tooMany: number
}

export interface ClusterNode {
  readonly name: string
  readonly type: 'master' | 'worker'
  /** Of its fault proxy. */
  readonly url: string
  /** Of the node itself. */
  readonly directUrl: string
  readonly proxy: FaultProxy
}

export interface ClusterProcess {
  readonly pid: number
  readonly nodes: readonly ClusterNode[]
  node(name: string): ClusterNode
  /** Replaces the fault of the node; `{}` for none. */
  fail(node: string, fault: NodeFault): Promise<void>
  report(): Promise<ClusterReport>
  /** Ends all faults of nodes and proxies. */
  recover(): Promise<void>
  close(): Promise<void>
}

type Options = Omit<SimulatorOptions, 'now'>

export async function startClusterProcess(options: Options): Promise<ClusterProcess> {
  const all = { ...options, username: 'edge', password: PASSWORD }
  const child = forkScript(new URL('cluster-child.ts', import.meta.url), [JSON.stringify(all)])
  const [{ nodes: started }] = (await once(child, 'message')) as [{ nodes: Omit<ClusterNode, 'proxy' | 'directUrl'>[] }]
  const waiting = new Map<number, (report: ClusterReport) => void>()
  child.on('message', ({ id, report }: { id: number; report: ClusterReport }) => {
    waiting.get(id)?.(report)
    waiting.delete(id)
  })
  let last = 0
  const command = (rest: Omit<ClusterCommand, 'id'>) =>
    new Promise<ClusterReport>((resolve) => {
      last += 1
      waiting.set(last, resolve)
      child.send({ id: last, ...rest })
    })
  const nodes = await Promise.all(
    started.map(async (node): Promise<ClusterNode> => {
      const proxy = await startFaultProxy(Number(new URL(node.url).port))
      return { ...node, directUrl: node.url, url: `${new URL(node.url).protocol}//127.0.0.1:${proxy.port}`, proxy }
    }),
  )
  const node = (name: string) => {
    const found = nodes.find((each) => each.name === name)
    if (found === undefined) throw new RangeError(`there is no node ${name}`)
    return found
  }
  const fail = async (name: string, fault: NodeFault) => void (await command({ node: name, fault }))
  return {
    pid: child.pid ?? 0,
    nodes,
    node,
    fail,
    report: () => command({}),
    recover: async () => {
      for (const { name, proxy } of nodes) {
        await proxy.set({ kind: 'pass' })
        await fail(name, {})
      }
    },
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      for (const { proxy } of nodes) await proxy.close()
    },
  }
}
