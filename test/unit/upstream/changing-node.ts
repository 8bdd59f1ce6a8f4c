/** A node whose layout changes, as by an upgrade, behind a fault proxy. */
import type { RequestListener } from 'node:http'
import type { Test } from 'tap'
import type { LayoutChange } from '../../../src/core/events.ts'
import { type Fault, startFaultProxy } from '../../faults/proxy.ts'
import { type ClusterTestOptions, clusterOf, fakeNode } from './fake-node.ts'
import { handlerOf } from './forwarding.ts'
import { rows, sendJson, withLogin } from './v4-node.ts'

type Layout = 'v3' | 'v4'

const v3Node: RequestListener = (request, response) => {
  if (!request.headers.authorization?.startsWith('Basic ')) {
    const headers = { 'content-type': 'text/plain', 'www-authenticate': 'Basic realm="OSSEC API"' }
    response.writeHead(401, headers).end('401 Unauthorized')
  } else sendJson(response, 200, { error: 0, data: { items: [{ id: '001', status: 'Active' }], totalItems: 1 } })
}

const ofAgents = rows([{ id: '001', status: 'active' }])
const v4Node = withLogin((request, response) => {
  if (request.headers.authorization?.startsWith('Bearer ')) ofAgents(request, response)
  else sendJson(response, 401, { title: 'Unauthorized', detail: 'No authorization token provided' })
})

async function startNode(t: Test, initial: Layout) {
  let layout = initial
  let isUpgradedUponWrite = false
  const node = await fakeNode(t, (request, response) => {
    if (isUpgradedUponWrite && request.method !== 'GET') {
      layout = 'v4'
      sendJson(response, 200, 'not an envelope')
    } else (layout === 'v3' ? v3Node : v4Node)(request, response)
  })
  const proxy = await startFaultProxy(node.port)
  t.teardown(() => proxy.close())
  return {
    url: `http://127.0.0.1:${proxy.port}`,
    /** The calls so far, without logins and questions for the layout. */
    calls: () =>
      node.seen
        .map(({ method, url = '' }) => `${method} ${url}`)
        .filter((call) => call !== 'GET /' && !call.includes('authenticate')),
    set: (fault: Fault) => proxy.set(fault),
    upgrade: () => {
      layout = 'v4'
    },
    /** From now on the node answers a write with what is no envelope, and has the v4 layout afterwards. */
    upgradeUponWrite: () => {
      isUpgradedUponWrite = true
    },
    replaceByV3: () => {
      layout = 'v3'
    },
  }
}

/** Starts a master and a worker with these layouts, and a handler in front of them that recognises layouts. */
export async function startAuto(t: Test, layouts: readonly [Layout, Layout], options: ClusterTestOptions = {}) {
  const [master, worker] = await Promise.all(layouts.map((layout) => startNode(t, layout)))
  if (master === undefined || worker === undefined) throw new Error('two nodes are needed')
  const changes: LayoutChange[] = []
  const lines: string[] = []
  const cluster = clusterOf(t, '', {
    layout: 'auto',
    layoutInterval: 100,
    onLayoutChange: (change) => changes.push(change),
    log: (_, message) => lines.push(message),
    nodes: [
      { name: 'boss', type: 'master', url: master.url },
      { name: 'w1', type: 'worker', url: worker.url },
    ],
    ...options,
  })
  const handler = handlerOf(cluster)
  return { master, worker, cluster, handler, changes, lines }
}
