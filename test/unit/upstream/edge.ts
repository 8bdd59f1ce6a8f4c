import type { RequestListener } from 'node:http'
import type { Test } from 'tap'
import { forward } from '../../../src/upstream/forward.ts'
import type { ClusterOptions } from '../../../src/upstream/index.ts'
import { createRouter } from '../../../src/upstream/route.ts'
import { type Fault, faultProxy } from '../../faults/proxy.ts'
import { ask } from './edge-request.ts'
import { clusterOf, envelope, fakeNode } from './fake-node.ts'

/** A master and a worker, each behind a fault proxy. */
export async function edge(t: Test, answer: RequestListener = envelope, options: Partial<ClusterOptions> = {}) {
  const started = async () => {
    const node = await fakeNode(t, answer)
    const proxy = await faultProxy(node.port)
    t.teardown(() => proxy.close())
    return { ...node, url: `http://127.0.0.1:${proxy.port}`, set: (fault: Fault) => proxy.set(fault) }
  }
  const [master, worker] = await Promise.all([started(), started()])
  const cluster = clusterOf(t, '', {
    nodes: [
      { name: 'boss', type: 'master', url: master.url },
      { name: 'w1', type: 'worker', url: worker.url },
    ],
    ...options,
  })
  const { call, view } = cluster
  const handle = forward({ call, view, route: createRouter('manager'), timeout: 400, slowTimeout: 1_500 })
  const urls = (node: typeof master) => node.seen.map(({ method, url }) => `${method} ${url}`)
  return { master, worker, handle, cluster, urls }
}

/** A write for the master. */
export const restart = () => ask('PUT', '/agents/:agent_id/restart', { params: { agent_id: '001' } })
