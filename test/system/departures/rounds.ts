/**
 * Rounds of clients that leave while the node of two replicas is busy. The node counts its calls, and a model says how many of
 * each there must be.
 */

import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { createRandom, type Random } from '../../faults/coherence/random.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { fakeNode } from '../../unit/upstream/fake-node.ts'

/** `close`: the kernel sends a FIN, as for a client that half-closes, and nothing reads the response. */
export const DEPARTURES = ['stay', 'reset', 'close', 'halfClose'] as const
type Departure = (typeof DEPARTURES)[number]

interface Client {
  readonly replica: number
  readonly kind: 'read' | 'write'
  /** Path and query. Clients with the same read share a call. */
  readonly path: string
  readonly departure: Departure
  readonly socket: Socket
  /** What the client has received when its connection has ended. */
  readonly text: Promise<string>
}

export interface Round {
  readonly clients: number
  readonly seed: number
}

/** The slots of the node, of both replicas together. */
const IN_FLIGHT = 4

export async function startStage(t: Test) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const held: { readonly url: string; readonly response: ServerResponse }[] = []
  const state = { holds: false }
  const node = await fakeNode(t, ({ url = '' }, response) => {
    if (state.holds && /^\/(rules|agents)/.test(url)) held.push({ url, response })
    else answer(url, response)
  })
  const settings = {
    cluster: { discover: false, limits: { inFlight: IN_FLIGHT, queue: 1000 } },
    cache: { redis: { url: redis.url }, snapshots: { groups: [] }, ttl: { rules: '60s' } },
    operations: { metrics: 'open' },
  }
  const nodes = [{ name: 'master', type: 'master' as const, url: node.url }]
  const replicas: RunningEdge[] = []
  for (let at = 0; at < 2; at += 1) {
    const edge = await startEdge({ nodes, settings })
    t.teardown(() => edge.close())
    replicas.push(edge)
  }
  /** Of both replicas. */
  const sum = async (name: string) => {
    const texts = replicas.map(async ({ operationsUrl }) => (await fetch(`${operationsUrl}/metrics`)).text())
    return (await Promise.all(texts)).reduce((all, text) => all + sumOf(samplesOf(text), name), 0)
  }
  const queued = () => sum('edge_node_queue')
  const inFlight = () => sum('edge_node_in_flight')
  const calls = (path: string, from = 0) => node.seen.slice(from).filter(({ url }) => url?.startsWith(path)).length
  const release = () => {
    state.holds = false
    for (const { url, response } of held.splice(0)) answer(url, response)
  }
  const hold = () => {
    state.holds = true
  }
  return { replicas, calls, release, hold, queued, inFlight, held, seen: () => node.seen.length }
}

export type Stage = Awaited<ReturnType<typeof startStage>>

function answer(url: string, response: ServerResponse): void {
  const body = `{"error":0,"data":${url.startsWith('/rules') ? '{"items":[],"totalItems":0}' : '{"msg":"done"}'}}`
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
}

let clients = 0

function startClient({ replicas }: Stage, which: Omit<Client, 'socket' | 'text'>): Client {
  const edge = replicas[which.replica] as RunningEdge
  clients += 1
  // Each client has its own address: many at one address are bulk, whose queued calls may be rejected.
  const localAddress = `127.1.${(clients >> 8) % 256}.${clients % 256}`
  const port = Number(new URL(edge.url).port)
  const socket = connect({ host: '127.0.0.1', localAddress, port, allowHalfOpen: true })
  socket.setEncoding('utf8').on('error', () => undefined)
  let text = ''
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  const method = which.kind === 'read' ? 'GET' : 'PUT'
  const lines = [`${method} ${which.path} HTTP/1.1`, 'Host: edge', `Authorization: ${edge.authorization('admin')}`]
  socket.write(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  const ended = new Promise<string>((resolve) => {
    socket.on('end', () => {
      socket.end()
      resolve(text)
    })
    socket.on('close', () => resolve(text))
  })
  return { ...which, socket, text: ended }
}

function leave({ departure, socket }: Client): void {
  if (departure === 'reset') socket.resetAndDestroy()
  if (departure === 'close') socket.destroy()
  if (departure === 'halfClose') socket.end()
}

/** Draws clients of which some share reads, within a replica and over both. */
function draw(random: Random, seed: number, index: number): Omit<Client, 'socket' | 'text'> {
  const kind = random.chance(0.3) ? 'write' : 'read'
  const path =
    kind === 'write' ? `/agents/${index + 100}/restart` : `/rules?search=s${seed}x${random.below(index + 8)}q`
  return { kind, path, replica: random.below(2), departure: random.of(DEPARTURES) }
}

/** Consecutive readings of the queues of all replicas. */
const STABLE_READINGS = 5

/** Returns what is wrong after one round: each entry is a path or a client with the wrong number of calls or response. */
export async function playRound(stage: Stage, { clients: count, seed }: Round): Promise<readonly string[]> {
  const random = createRandom(seed)
  const from = stage.seen()
  const calls = (path: string) => stage.calls(path, from)
  stage.hold()
  const clients = Array.from({ length: count }, (_, index) => startClient(stage, draw(random, seed, index)))
  const paths = [...new Set(clients.map(({ path }) => path))]
  const of = (path: string) => clients.filter((client) => client.path === path)
  await eventually(async () => stage.held.length === IN_FLIGHT && (await stage.queued()) === paths.length - IN_FLIGHT)
  const sent = new Set(paths.filter((path) => calls(path) > 0))
  const isAwaited = (path: string) => sent.has(path) || of(path).some(({ departure }) => departure === 'stay')
  for (const client of clients) leave(client)
  const awaited = paths.filter(isAwaited)
  const wrong: string[] = []
  const rest = awaited.length - sent.size
  // A call that passes from one replica to the other is in no queue for a moment. On a busy machine, the readings take seconds.
  let unchanged = 0
  const isStable = async () => {
    unchanged = (await stage.queued()) === rest ? unchanged + 1 : 0
    return unchanged >= STABLE_READINGS
  }
  const isDropped = async () => (await stage.queued()) === rest
  await eventually(isDropped, 3_000)
    .then(() => eventually(isStable))
    .catch(async () => wrong.push(`${await stage.queued()} calls are queued instead of ${rest}`))
  stage.release()
  for (const { text, ...client } of clients) {
    if (client.departure === 'reset' || client.departure === 'close') continue
    const status = (await text).split(' ')[1] ?? 'no response'
    const { path, replica, departure } = client
    const isAwaitedHere = sent.has(path) || of(path).some((one) => one.departure === 'stay' && one.replica === replica)
    // A half-closed client gets the response if the other replica holds the fetch lock, for a client that stays.
    const expected = isAwaitedHere ? ['200'] : isAwaited(path) ? ['200', '503'] : ['503']
    if (!expected.includes(status))
      wrong.push(`${client.kind} ${path} at ${replica}, ${departure}: ${status}, not ${expected}`)
  }
  await eventually(async () => (await stage.queued()) + (await stage.inFlight()) === 0)
  for (const path of paths) {
    const expected = isAwaited(path) ? 1 : 0
    if (calls(path) !== expected) {
      const departures = of(path).map(({ replica, departure }) => `${departure} at ${replica}`)
      wrong.push(
        `${path} (${sent.has(path) ? 'sent' : 'queued'}; ${departures}): ${calls(path)} calls, not ${expected}`,
      )
    }
  }
  wrong.push(...(await checkStored(stage, clients, sent, from)))
  return wrong
}

/** What was sent for clients that left was stored: a later read at either replica costs no call. */
async function checkStored(stage: Stage, clients: readonly Client[], sent: ReadonlySet<string>, from: number) {
  const reads = [
    ...new Set(clients.filter(({ kind, path }) => kind === 'read' && sent.has(path)).map(({ path }) => path)),
  ]
  const wrong: string[] = []
  for (const path of reads) {
    for (const replica of [0, 1]) {
      await startClient(stage, { path, replica, kind: 'read', departure: 'stay' }).text
      const calls = stage.calls(path, from)
      if (calls !== 1) wrong.push(`${path}: ${calls} calls after a later read`)
    }
  }
  return wrong
}
