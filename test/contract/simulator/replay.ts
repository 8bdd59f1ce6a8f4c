/** Sends recorded requests of a v4 cluster to the simulator, and compares the shapes of the responses. */
import type { Simulator } from '../../../packages/simulator/src/index.ts'
import { basic, call, parseBody, type V4Reply } from '../../../packages/simulator/test/v4/ask.ts'
import { recordedV4, type V4Exchange } from '../v4/exchanges.ts'
import { startRecordedCluster, USERS } from './world.ts'

/** The outcome of a response: HTTP status, code of the error or `error`, and the codes of failed items. */
function outcomeOf(status: number, body: string): string {
  const json = parseBody(body)
  if (json === undefined) return `${status} text`
  const { error = '-', data } = json
  const failed = (data?.failed_items ?? []).map((item) => item.error.code).sort()
  return `${status}/${error}${failed.map((code) => ` f${code}`).join('')}`
}

/** Adds `field: type` for each field of a successful response, with `[]` for the members of lists. */
function addShape(into: Set<string>, body: string): void {
  const data = parseBody(body)?.data
  if (data !== undefined) addValue(into, 'data', data)
}

function addValue(into: Set<string>, path: string, value: unknown): void {
  // Failed items have one form everywhere, which the outcome covers.
  if (path === 'data.failed_items') return
  if (Array.isArray(value)) {
    into.add(`${path}: list`)
    for (const member of value) addValue(into, `${path}[]`, member)
  } else if (typeof value === 'object' && value !== null) {
    into.add(`${path}: object`)
    for (const [name, inner] of Object.entries(value)) addValue(into, `${path}.${name}`, inner)
  } else {
    into.add(`${path}: ${value === null ? 'null' : typeof value}`)
  }
}

/** Returns the path of a call with `{}` in place of the names of objects. */
function templateOf({ request }: V4Exchange): string {
  const path = request.path.split('?')[0] ?? ''
  const [method, template] = [request.method, path.replaceAll(/\/\d+(?=\/|$)/g, '/{id}')]
  return `${method} ${template
    .replaceAll(/\/(?:master|worker-\d|nope)(?=\/|$)/g, '/{node}')
    .replaceAll(/(?<=\/groups?)\/(?!summary|restart)[a-z]\w*/g, '/{group}')
    .replaceAll(/(?<=\/rules|\/decoders|\/lists)\/files\/.+/g, '/files/{file}')}`
}

interface Client {
  ask(exchange: V4Exchange): Promise<V4Reply>
}

/** Logs each user in at each node once. */
function createClient(simulator: Simulator): Client {
  const tokens = new Map<string, Promise<string>>()
  const urlOf = (name: string) => simulator.nodes.find((node) => node.name === name)?.url ?? ''
  const logIn = async (user: string, node: string) => {
    const known = Object.entries(USERS).find(([name]) => name === user)?.[1].password
    const authorization = known === undefined ? basic('edge', 'simulated') : basic(user, known)
    return (await call(`${urlOf(node)}/security/user/authenticate?raw=true`, 'POST', { authorization })).text
  }
  return {
    ask: async ({ node, user, request }) => {
      const key = `${user} ${node}`
      const token = tokens.get(key) ?? logIn(user, node)
      tokens.set(key, token)
      const headers = { ...request.headers, authorization: `Bearer ${await token}` }
      const path = request.path.replaceAll('cis_debian11', 'cis_debian9_L1')
      return call(urlOf(node) + path, request.method, headers, bodyOf(request.body ?? ''))
    },
  }
}

/** Placeholders of the recording stand for secrets, and for a body that was too long for it. */
function bodyOf(body: string): string {
  const [, bytes] = /^<(\d+) bytes>$/.exec(body) ?? []
  if (bytes !== undefined) return 'x'.repeat(Number(bytes))
  return body.replaceAll('<CLUSTER_KEY>', 'c'.repeat(32))
}

export interface Difference {
  readonly line: number
  readonly request: string
  readonly recorded: string
  readonly simulated: string
}

export interface Replayed {
  readonly requests: number
  /** Unexpected exceptions of the simulator. */
  readonly thrown: readonly unknown[]
  /** Responses with another status or other codes. */
  readonly differences: readonly Difference[]
  /** Fields of successful responses by call, each with its type. */
  readonly shapes: ReadonlyMap<string, { readonly recorded: Set<string>; readonly simulated: Set<string> }>
}

/** The recording has two parts; the second one began with the cluster as it was at first. */
const SECOND_PART = 1596

/** Sends all requests that name what the recording contains, in their order. */
export async function replay(): Promise<Replayed> {
  const differences: Difference[] = []
  const shapes = new Map<string, { readonly recorded: Set<string>; readonly simulated: Set<string> }>()
  const thrown: unknown[] = []
  const exchanges = recordedV4().filter(isRepeatable)
  const parts = [
    exchanges.filter(({ line }) => line < SECOND_PART),
    exchanges.filter(({ line }) => line >= SECOND_PART),
  ]
  for (const part of parts) {
    const simulator = await startRecordedCluster()
    try {
      const client = createClient(simulator)
      for (const exchange of part) {
        await setState(simulator, exchange)
        const { status, text } = await client.ask(exchange)
        const recorded = exchange.response
        const [expected, found] = [outcomeOf(recorded.status, recorded.body ?? ''), outcomeOf(status, text)]
        const { method, path } = exchange.request
        if (expected !== found) {
          differences.push({ line: exchange.line, request: `${method} ${path}`, recorded: expected, simulated: found })
        }
        if (recorded.status !== 200 || status !== 200) continue
        const template = templateOf(exchange)
        const shape = shapes.get(template) ?? { recorded: new Set(), simulated: new Set() }
        addShape(shape.recorded, recorded.body ?? '')
        addShape(shape.simulated, text)
        shapes.set(template, shape)
      }
    } finally {
      await simulator.close()
    }
    thrown.push(...simulator.thrown)
  }
  return { requests: exchanges.length, thrown, differences, shapes }
}

/** Not the exchanges about logging in, which were recorded without their credentials, and not those without an answer. */
function isRepeatable({ user, request, response }: V4Exchange): boolean {
  return user !== '(explicit)' && response.status !== 0 && !request.path.startsWith('/security/')
}

const lost = new WeakSet<Simulator>()

/** A node was stopped for some exchanges; nodes are up again before the next exchange, and so is an API that hung. */
async function setState(simulator: Simulator, { note, request }: V4Exchange): Promise<void> {
  const isLost = note.startsWith('worker-2 ')
  if (isLost && !lost.has(simulator)) {
    await simulator.faults.set('worker-2', { nodeDown: true })
    lost.add(simulator)
  } else if (!isLost && lost.has(simulator)) {
    await simulator.faults.clear('worker-2')
    lost.delete(simulator)
  }
  if (!request.path.includes('search=')) simulator.v4.restartApi('master')
}
