/** A master of release 5.0 in place of a real one: the only node with an API, and what it answers to each call. */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Test } from 'tap'
import { fakeNode } from './fake-node.ts'
import { rows, sendJson, withLogin } from './v4-node.ts'

const RELEASE = '5.0.0'
const nodesOf = (version: string, ofWorker: string) =>
  rows([
    { name: 'master', type: 'master', version, ip: '10.0.0.1' },
    { name: 'w1', type: 'worker', version: ofWorker, ip: '10.0.0.2' },
  ])

/** Answers `GET /` and the list of nodes to calls with a token, and all others by the listener. */
export function ofRelease5(
  listener: RequestListener,
  named: string | (() => string) = RELEASE,
  ofWorker?: string,
): RequestListener {
  return withLogin((request, response) => {
    const release = typeof named === 'string' ? named : named()
    if (request.headers.authorization?.startsWith('Bearer ') !== true)
      sendJson(response, 401, { title: 'Unauthorized', detail: 'No authorization token provided' })
    else if (request.url === '/')
      sendJson(response, 200, { data: { title: 'Wazuh API REST', api_version: release, hostname: 'master' }, error: 0 })
    else if (request.url?.startsWith('/cluster/nodes')) nodesOf(release, ofWorker ?? release)(request, response)
    else listener(request, response)
  })
}

export async function startMaster(t: Test, listener: RequestListener = rows([]), ofWorker?: string) {
  const node = await fakeNode(t, ofRelease5(listener, RELEASE, ofWorker))
  const isOf = ({ url = '' }: IncomingMessage, path: string) => url.split('?')[0] === path
  return {
    ...node,
    /** The calls without those by which the edge learns about the cluster. */
    calls: () =>
      node.seen
        .filter((call) => !['/', '/cluster/nodes', '/security/user/authenticate'].some((path) => isOf(call, path)))
        .map(({ method, url }) => `${method} ${url}`),
    callsOf: (path: string) => node.seen.filter((call) => isOf(call, path)),
  }
}
