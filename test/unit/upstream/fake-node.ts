/** HTTP servers in place of nodes, and clusters that are closed at the end of the test. */
import http, { type IncomingMessage, type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import net from 'node:net'
import type { Test } from 'tap'
import type { NodeCall } from '../../../src/core/node-call.ts'
import { type Cluster, type ClusterOptions, createCluster } from '../../../src/upstream/index.ts'
import { type ClusterSettings, type NodeLimits, withDefaults } from '../../../src/upstream/options.ts'

type Teardown = Pick<Test, 'teardown'>

export interface FakeNode {
  readonly port: number
  readonly url: string
  /** The requests in order of arrival, without those of readiness probes. */
  readonly seen: IncomingMessage[]
  connections(): number
  /** Ends the connections, and accepts no others. */
  stop(): void
}

/** Responds with an envelope of a node. */
export const envelope: RequestListener = (_, response) => {
  const body = '{"error":0,"data":{"x":1}}'
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
  response.end(body)
}

/** The call of a readiness probe: it comes whatever the test requests. */
const PROBE = '/version'

export async function fakeNode(t: Teardown, respond: RequestListener = envelope, tls?: https.ServerOptions) {
  const seen: IncomingMessage[] = []
  const listener: RequestListener = (request, response) => {
    if (request.url !== PROBE) seen.push(request)
    respond(request, response)
  }
  const server = tls ? https.createServer(tls, listener) : http.createServer(listener)
  const { port, connections, stop } = await listen(t, server)
  return { port, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, seen, connections, stop } satisfies FakeNode
}

/** A node that writes these bytes upon a request, and then closes the connection if `end` is set. */
export async function rawNode(t: Teardown, bytes: string | Buffer, end = false) {
  let requests = 0
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => {
      requests += 1
      if (end) socket.end(bytes)
      else socket.write(bytes)
    })
  })
  return { ...(await listen(t, server)), requests: () => requests }
}

export async function listen(t: Teardown, server: Server) {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const stop = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  t.teardown(stop)
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}`, connections: () => connections, sockets, stop }
}

export const limits: NodeLimits = {
  inFlight: 4,
  queue: 256,
  timeout: 20_000,
  response: 64 * 1024 * 1024,
}

export type ClusterTestOptions = Partial<Omit<ClusterOptions, 'limits'>> & { readonly limits?: Partial<NodeLimits> }

/** Creates a cluster with one master at `url`, unless the options have nodes. */
export function clusterOf(t: Teardown, url: string, options: ClusterTestOptions = {}): Cluster {
  const cluster = createCluster(clusterOptions(url, options))
  t.teardown(() => cluster.close())
  return cluster
}

/** Returns the settings of such a cluster, with all defaults. */
export function clusterSettings(options: ClusterTestOptions): ClusterSettings {
  return withDefaults(clusterOptions('', options))
}

function clusterOptions(url: string, options: ClusterTestOptions): ClusterOptions {
  return {
    nodes: [{ name: 'master', type: 'master', url }],
    discover: false,
    credentials: { mode: 'service', username: 'edge', password: 'pass' },
    ...options,
    limits: () => ({ ...limits, ...options.limits }),
  }
}

export function get(path = '/agents', overrides: Partial<NodeCall> = {}): NodeCall {
  return {
    node: 'master',
    method: 'GET',
    path,
    retryable: true,
    expect: 'bytes',
    timeout: 20_000,
    signal: new AbortController().signal,
    priority: 'interactive',
    caller: 'ann',
    endpoint: `GET ${path}`,
    requestId: 'test-1',
    ...overrides,
  }
}

export function put(path = '/agents/001/restart', overrides: Partial<NodeCall> = {}): NodeCall {
  return get(path, { method: 'PUT', retryable: false, ...overrides })
}
