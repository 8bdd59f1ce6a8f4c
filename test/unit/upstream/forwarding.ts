import type { RequestListener } from 'node:http'
import type { Test } from 'tap'
import { forward } from '../../../src/upstream/forward.ts'
import type { Cluster } from '../../../src/upstream/index.ts'
import { createKinds } from '../../../src/upstream/kinds.ts'
import { type Fault, startFaultProxy } from '../../faults/proxy.ts'
import { edgeRequest } from './edge-request.ts'
import { type ClusterTestOptions, clusterOf, envelope, fakeNode } from './fake-node.ts'

type Limits = ReturnType<Parameters<typeof forward>[0]['limits']>

/** For tests in which a node does not respond in time. */
const SHORT: Limits = { timeout: 400, slowTimeout: 1_500 }
const PATIENT: Limits = { timeout: 20_000, slowTimeout: 20_000 }

/** Limits that are short only while this fault stalls: a busy machine may take long for each other response. */
export function createPatientLimits() {
  let limits: Limits = PATIENT
  return { limits: () => limits, fitTo: ({ kind }: Fault) => (limits = kind === 'stall' ? SHORT : PATIENT) }
}

/** Returns the handler that sends a request to one node of the cluster. */
export function handlerOf({ call, view }: Pick<Cluster, 'call' | 'view'>, limits: () => Limits = () => PATIENT) {
  return forward({ call, view, kindOf: createKinds('manager'), limits })
}

/** Returns a listener that responds as `listener` after the release. */
export function holdUntilReleased(listener: RequestListener) {
  let release = () => undefined as unknown
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const respond: RequestListener = (request, response) => void released.then(() => listener(request, response))
  return { respond, release: () => release() }
}

/** Starts a master and a worker, each behind a fault proxy, and a forwarding handler for them. */
export async function startForwarding(
  t: Test,
  listener: RequestListener = envelope,
  options: ClusterTestOptions = {},
  limits: () => Limits = () => PATIENT,
) {
  const startNode = async () => {
    const node = await fakeNode(t, listener)
    const proxy = await startFaultProxy(node.port)
    t.teardown(() => proxy.close())
    return { ...node, url: `http://127.0.0.1:${proxy.port}`, set: (fault: Fault) => proxy.set(fault) }
  }
  const [master, worker] = await Promise.all([startNode(), startNode()])
  const cluster = clusterOf(t, '', {
    nodes: [
      { name: 'boss', type: 'master', url: master.url },
      { name: 'w1', type: 'worker', url: worker.url },
    ],
    ...options,
  })
  const handler = handlerOf(cluster, limits)
  const urls = (node: typeof master) => node.seen.map(({ method, url }) => `${method} ${url}`)
  return { master, worker, handler, cluster, urls }
}

/** A write for the master. */
export const restart = () => edgeRequest('PUT', '/agents/:agent_id/restart', { params: { agent_id: '001' } })
