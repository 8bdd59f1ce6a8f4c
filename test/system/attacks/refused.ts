/**
 * Every kind of request that the edge refuses, on each listener of the built program, followed by a reset, a half-close or
 * silence: the process goes on, other connections notice nothing, and the connection is closed.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get as getPlain, Agent as PlainAgent } from 'node:http'
import { get as getTls, Agent as TlsAgent } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { type EdgeProcess, headers, startEdgeProcess } from '../../faults/suite/edge-process.ts'
import { startNodeUpstream } from '../../faults/suite/upstream.ts'
import { eventually } from '../../support/eventually.ts'
import { bad, type Row } from '../../unit/listener/framing-rows.ts'

export interface ClassResult {
  readonly checked: number
  readonly failed: readonly string[]
}

type Ending = 'reset' | 'reset after the response' | 'half-close' | 'silence'
const ENDINGS: readonly Ending[] = ['reset', 'reset after the response', 'half-close', 'silence']

interface Listener {
  readonly name: string
  readonly port: number
  readonly isTls: boolean
  /** A path that other clients get all the time. */
  readonly path: string
  /** Its limit of the URL is longer. */
  readonly isOperations?: true
}

/** A few seconds at most, so that silence ends soon. */
const timeouts = { headers: '2s', body: '3s', write: '2s', expect: '2s' }
/** Between two requests of the client that must notice nothing. */
const PAUSE_MS = 20
/** More handshakes of TLS at once could last longer than the timeout of headers on busy cores. */
const CONCURRENT_ATTACKS = 16
const CLASSES: readonly (readonly [RegExp, string])[] = [
  [/CONNECT/, 'CONNECT'],
  [/H16/, 'upgrade'],
  [/HTTP\/0|HTTP\/2|no HTTP|plain/, 'other protocol'],
  [/H19/, 'too large'],
  [/H14|PROPFIND/, 'method'],
  [/H1[012]|Host/, 'Host'],
  [/H0[1-7]|chunked|H27|Content-Type|Authorization/, 'body and headers'],
]
const classOf = (name: string) => CLASSES.find(([pattern]) => pattern.test(name))?.[1] ?? 'head'

const certificate = (name: string) => readFile(join(import.meta.dirname, '../../support/certificates', name), 'utf8')

/** `executable`: the program of Node that runs the edge; default: that of this process. */
export async function checkRefusedRequests(executable?: string): Promise<ReadonlyMap<string, ClassResult>> {
  const upstream = await startNodeUpstream()
  const options = { nodes: upstream.nodes, ...(executable !== undefined && { executable }) }
  const listen = { timeouts }
  const files = { 'tls.crt': await certificate('first.crt'), 'tls.key': await certificate('first.key') }
  const tls = { cert: 'tls.crt', key: 'tls.key' }
  const plain = await startEdgeProcess({ ...options, settings: { listen } })
  const secure = await startEdgeProcess({
    ...options,
    files,
    settings: { listen: { ...listen, tls }, operations: { tls } },
  })
  try {
    return await checkEdges(plain, secure)
  } finally {
    await Promise.all([plain.close(), secure.close(), upstream.close()])
  }
}

async function checkEdges(plain: EdgeProcess, secure: EdgeProcess): Promise<ReadonlyMap<string, ClassResult>> {
  const listeners: readonly Listener[] = [
    { name: 'API', port: plain.port, isTls: false, path: '/agents/001' },
    { name: 'API with TLS', port: secure.port, isTls: true, path: '/agents/001' },
    { name: 'operations', port: plain.operationsPort, isTls: false, path: '/readyz', isOperations: true },
    { name: 'operations with TLS', port: secure.operationsPort, isTls: true, path: '/readyz', isOperations: true },
  ]
  const results = new Map<string, { checked: number; failed: string[] }>()
  const record = (kind: string, failure: string | undefined): void => {
    const result = results.get(kind) ?? { checked: 0, failed: [] }
    results.set(kind, result)
    result.checked += 1
    if (failure !== undefined) result.failed.push(failure)
  }
  for (const listener of listeners) {
    const bystander = watchOtherClient(listener)
    const attacks = ENDINGS.flatMap((ending) => rowsFor(listener).map((row) => ({ row, ending })))
    const begun: (Attack & (typeof attacks)[number])[] = []
    for (let at = 0; at < attacks.length; at += CONCURRENT_ATTACKS) {
      const some = attacks.slice(at, at + CONCURRENT_ATTACKS)
      const sent = some.map(async (attack) => ({ ...attack, ...(await send(listener, attack.row, attack.ending)) }))
      begun.push(...(await Promise.all(sent)))
    }
    const openPorts = () => openConnections(listener.port)
    const areClosed = async () => {
      const open = await openPorts()
      return begun.every(({ port }) => !open.has(port))
    }
    await eventually(areClosed).catch(() => undefined)
    const open = await openPorts()
    for (const { row, ending, port, fault, close } of begun) {
      const failure = open.has(port) ? 'the connection stays open' : fault
      record(classOf(row.name), failure && `${listener.name}, ${row.name}, ${ending}: ${failure}`)
      close()
    }
    record('other connections', await bystander.stop())
  }
  for (const [name, edge] of [
    ['API', plain],
    ['API with TLS', secure],
  ] as const) {
    const uncaught = (await edge.metrics().catch(() => [])).find(
      (sample) => sample.name === 'edge_uncaught_connection_errors_total',
    )
    record('process', uncaught?.value === 0 ? undefined : `${name}: ended, or had an uncaught error`)
  }
  return results
}

function rowsFor({ isTls, isOperations }: Listener): readonly Row[] {
  const rows = isOperations ? bad.filter(({ name }) => !/URL of (?:9|20) kB/.test(name)) : bad
  const plain = { name: 'plain HTTP', bytes: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', status: 0, code: 0 }
  return isTls ? [...rows, plain] : rows
}

interface Attack {
  /** Of the client. */
  readonly port: number
  readonly fault: string | undefined
  close(): void
}

async function send(listener: Listener, { name, bytes, status }: Row, ending: Ending): Promise<Attack> {
  const raw = connect({ port: listener.port, host: '127.0.0.1', allowHalfOpen: true })
  raw.on('error', () => undefined)
  await once(raw, 'connect')
  const { localPort: port = 0 } = raw
  const isWrapped = listener.isTls && name !== 'plain HTTP'
  const socket: Socket = isWrapped ? connectTls({ socket: raw, rejectUnauthorized: false }) : raw
  socket.on('error', () => undefined)
  if (isWrapped) await once(socket, 'secureConnect')
  let text = ''
  const ended = new Promise((resolve) => {
    for (const event of ['end', 'close']) socket.once(event, resolve)
  })
  if (ending !== 'silence') socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  const answered = Promise.race([once(socket, 'data').catch(() => undefined), ended])
  socket.write(Buffer.from(bytes, 'latin1'))
  if (ending === 'silence') return { port, fault: undefined, close: () => raw.destroy() }
  if (ending === 'half-close') socket.end()
  if (ending === 'reset after the response') await answered
  if (ending === 'half-close') await ended
  else raw.resetAndDestroy()
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))
  // A header that fills a whole record of TLS may be taken for a URL.
  const allowed = listener.isTls && name === 'H19 header of 40 kB' ? [status, 414] : [status]
  const isExpected =
    status === 0 ||
    listener.isOperations ||
    ending !== 'half-close' ||
    (statuses.length === 1 && allowed.includes(statuses[0] ?? 0))
  return { port, fault: isExpected ? undefined : `statuses ${statuses}`, close: () => raw.destroy() }
}

/** Sends requests on one connection until `stop`, which resolves to what went wrong. */
function watchOtherClient({ port, path, isTls }: Listener): { stop(): Promise<string | undefined> } {
  const options = { keepAlive: true, maxSockets: 1 }
  const agent = isTls ? new TlsAgent({ ...options, rejectUnauthorized: false }) : new PlainAgent(options)
  const ports = new Set<number | undefined>()
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const to = { host: '127.0.0.1', port, path, headers, agent }
      const call = isTls ? getTls({ ...to, rejectUnauthorized: false }) : getPlain(to)
      call.on('error', reject)
      call.on('response', (response) => {
        ports.add(response.socket.localPort)
        response.resume().on('end', () => resolve(response.statusCode))
      })
    })
  let isStopped = false
  const watched = (async () => {
    while (!isStopped) {
      const status = await ask()
      if (status !== 200) return `status ${status}`
      await wait(PAUSE_MS)
    }
    return ports.size === 1 ? undefined : `${ports.size} connections were needed`
  })().catch((error: Error) => error.message)
  return {
    stop: async () => {
      isStopped = true
      const failure = await watched
      agent.destroy()
      return failure
    },
  }
}

/** The ports of the clients whose connections to this port a process still has. The kernel gives others no inode. */
async function openConnections(port: number): Promise<ReadonlySet<number>> {
  const lines = (await readFile('/proc/net/tcp', 'utf8')).trim().split('\n').slice(1)
  const open = lines.map((line) => line.trim().split(/\s+/))
  const portOf = (address = '') => Number.parseInt(address.split(':')[1] ?? '', 16)
  return new Set(
    open.flatMap(([, local, remote, , , , , , , inode]) =>
      portOf(local) === port && inode !== '0' ? [portOf(remote)] : [],
    ),
  )
}
