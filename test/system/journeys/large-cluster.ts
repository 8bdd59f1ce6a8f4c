/**
 * Nodes and a client for requests about very many agents, in a separate thread: the event loop of the test has
 * nothing but the edge.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Test } from 'tap'
import { expectedResults, type Fate, type FatedAgent, nodeResponse } from '../../support/fates.ts'

const nodeNames = ['master', ...Array.from({ length: 11 }, (_, at) => `worker-${at + 1}`)]

interface LargeCluster {
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
  /** Restarts the group of all agents through the edge; resolves when the client has checked the response. */
  restartAll(url: string, authorization: string): Promise<RestartResult>
}

export interface RestartResult {
  readonly status: number
  readonly bytes: number
  /** Whether each agent is listed with its fate, in order. */
  readonly isAsExpected: boolean
}

interface Settings {
  readonly agents: number
  /** What becomes of the agents, in turns. */
  readonly fates: readonly Fate[]
}

/** Starts the nodes. Agents report to them in turn; all are in the group `all`. */
export async function largeCluster(t: Test, settings: Settings): Promise<LargeCluster> {
  const worker = new Worker(new URL(import.meta.url), { workerData: settings })
  t.teardown(() => worker.terminate())
  const [ports] = (await once(worker, 'message')) as [number[]]
  return {
    nodes: nodeNames.map((name, at) => ({
      name,
      type: at === 0 ? 'master' : 'worker',
      url: `http://127.0.0.1:${ports[at]}`,
    })),
    restartAll: async (url, authorization) => {
      worker.postMessage({ url, authorization })
      const [result] = (await once(worker, 'message')) as [RestartResult]
      return result
    },
  }
}

/** Bodies are made once: with 100,000 agents that takes longer than the edge needs. */
async function serve({ agents: count, fates }: Settings): Promise<void> {
  const agents = Array.from({ length: count }, (_, at): FatedAgent => {
    const node = nodeNames[at % nodeNames.length] ?? 'master'
    return { id: String(at + 1).padStart(6, '0'), node, fate: fates[at % fates.length] ?? 'restarted' }
  })
  const fateOf = new Map(agents.map(({ id, fate }) => [id, fate]))
  const rows = agents.map(({ id, node, fate }) => {
    return { id, node_name: fate === 'noOwner' ? 'unknown' : node, status: 'Active' }
  })
  const bodies = new Map<string, string>()
  const bodyFor = (key: string, make: () => unknown) => {
    const body = bodies.get(key) ?? JSON.stringify(make())
    bodies.set(key, body)
    return body
  }
  const together = createBarrier(nodeNames.length)
  const listener: RequestListener = async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://node')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const sent = Buffer.concat(chunks).toString()
    const offset = Number(searchParams.get('offset') ?? 0)
    const body =
      request.method === 'GET'
        ? bodyFor(`${pathname} ${offset}`, () => {
            const items = pathname === '/version' ? [] : rows.slice(offset, offset + 1000)
            return { error: 0, data: { items, totalItems: rows.length } }
          })
        : bodyFor(sent, () => nodeResponse(JSON.parse(sent).ids, fateOf))
    if (request.method !== 'GET') await together()
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(body)
  }
  const servers = nodeNames.map(() => createServer(listener).listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  parentPort?.postMessage(servers.map((server) => (server.address() as { port: number }).port))
  const expected = expectedResults(agents)
  parentPort?.on('message', async ({ url, authorization }) => {
    const response = await fetch(`${url}/agents/groups/all/restart`, { method: 'PUT', headers: { authorization } })
    const text = await response.text()
    parentPort?.postMessage({
      status: response.status,
      bytes: text.length,
      isAsExpected: isAsExpected(JSON.parse(text), expected),
    })
  })
}

/** If fewer calls come, they wait this long. */
const BARRIER_MS = 500

/** Returns a function that resolves for several callers at once, so that the edge gets their responses together. */
function createBarrier(size: number): () => Promise<void> {
  let waiting: (() => void)[] = []
  const release = () => {
    for (const go of waiting) go()
    waiting = []
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length >= size) release()
      else setTimeout(release, BARRIER_MS)
    })
}

type Results = ReturnType<typeof expectedResults>

function isAsExpected({ data }: { data?: Record<string, unknown> }, { affected, failed }: Results): boolean {
  const ids = (data?.affected_agents ?? []) as string[]
  const failures = (data?.failed_ids ?? []) as Results['failed']
  const text = (list: Results['failed']) => list.map(({ id, error }) => `${id} ${error.code}`).join()
  return ids.join() === affected.join() && text(failures) === text(failed)
}

if (!isMainThread && parentPort !== null) await serve(workerData as Settings)
