/** Clients in front of a simulated release 5.0 with its limits: what they get, and what the master gets. Each answer is verified. */
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, type Settings, startEdge } from '../../support/edge.ts'

export interface BudgetRow {
  readonly mode: 'service' | 'passthrough'
  readonly contract: 'v3' | 'v4'
  readonly clients: number
}

export interface BudgetOptions extends BudgetRow {
  readonly seconds: number
  /** Milliseconds between an answer and the next request of a client: at least this, at most twice as many. */
  readonly pause: number
  /** Factor by which the master is faster than a real one, which checks a password in 130 ms; default 1. */
  readonly scale?: number
}

export interface BudgetFigures {
  readonly calls: number
  /** Calls of the master in the worst 60 s. */
  readonly mostPerMinute: number
  readonly logins: number
  /** Calls that the master refused with 429. */
  readonly tooMany: number
  /** Calls to paths and methods that the master does not have. */
  readonly unknown: number
  /** Requests with the answer that a single client without limits gets, by status. */
  readonly right: ReadonlyMap<number, number>
  /** Requests that were refused with 503, by the reason in the body. */
  readonly refused: ReadonlyMap<string, number>
  /** Repetitions after the time in `Retry-After`, and how many of these had the right answer. */
  readonly repeated: { readonly all: number; readonly right: number }
  /** What was wrong with other answers. */
  readonly wrong: readonly string[]
  /** Milliseconds from the start of each client to its first right answer; Infinity: it got none. */
  readonly first: readonly number[]
}

/** What consoles read: what release 5.0 has, and what it no longer has. */
const READS = {
  v3: [
    ...['/agents?limit=5', '/agents/groups', '/agents/summary', '/agents/summary/os', '/agents/001', '/cluster/nodes'],
    ...['/manager/info', '/manager/status', '/agents/no_group', '/rules', '/decoders', '/syscollector/001/os'],
  ],
  v4: [
    ...['/agents?limit=5', '/groups', '/agents/summary/status', '/agents/summary/os', '/cluster/nodes', '/rules'],
    ...[
      '/overview/agents',
      '/cluster/master-node/info',
      '/cluster/master-node/status',
      '/manager/info',
      '/syscollector/001/os',
    ],
  ],
} as const

const MASTER = 'master-node'
const REQUESTS_PER_MINUTE = 300
const UNAUTHENTICATED_PER_MINUTE = 10
const MAX_RETRY_AFTER_S = 60
const PASSWORD = 'Only-for-1-test'
const nameOf = (user: number) => `user-${user}`

export async function measureBudget(options: BudgetOptions): Promise<BudgetFigures> {
  const { mode, clients, scale = 1 } = options
  const users = mode === 'service' ? [] : Array.from({ length: clients }, (_, user) => user)
  const simulator = await startSimulator({
    layout: 'v4',
    version: '5.0.0',
    agents: 40,
    workers: 1,
    capacity: { scale },
    password: PASSWORD,
    v4: {
      requestsPerMinute: REQUESTS_PER_MINUTE,
      unauthenticatedPerMinute: UNAUTHENTICATED_PER_MINUTE,
      users: Object.fromEntries(users.map((user) => [nameOf(user), { password: PASSWORD, roles: ['readonly'] }])),
    },
  })
  try {
    const expected = await readEach(options, simulator)
    // Forgets the calls so far.
    simulator.v4.restartApi(MASTER)
    const before = { at: simulator.seen.length, unknown: simulator.v4.unknownRequests(MASTER) }
    const edge = await startFor(options, simulator)
    try {
      const found = await runClients(options, edge, expected)
      const calls = simulator.seen.slice(before.at)
      return {
        ...found,
        calls: calls.length,
        mostPerMinute: mostWithin(
          calls.map(({ at }) => at),
          60_000,
        ),
        logins: calls.filter(({ url }) => url.startsWith('/security/user/authenticate')).length,
        tooMany: simulator.v4.refusedRequests(MASTER),
        unknown: simulator.v4.unknownRequests(MASTER) - before.unknown,
      }
    } finally {
      await edge.close()
    }
  } finally {
    await simulator.close()
  }
}

function startFor({ mode, contract }: BudgetRow, { nodes }: Simulator, settings: Settings = {}): Promise<RunningEdge> {
  const isPassthrough = mode === 'passthrough'
  const { perMinute = null } = settings
  return startEdge({
    nodes: nodes.filter(({ type }) => type === 'master'),
    password: PASSWORD,
    settings: {
      listen: { contract },
      cluster: {
        layout: 'v4',
        limits: { perMinute },
        ...(isPassthrough && { credentials: { mode, username: null, password: null } }),
      },
      access: {
        // In mode service all clients have one account.
        limits: { requestsPerSecond: 100_000, hitsPerSecond: 100_000 },
        ...(isPassthrough && { users: null, roles: null }),
      },
    },
  })
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly retryAfter: number
}

type Send = (path: string, authorization: string, method?: 'GET' | 'POST') => Promise<Answer>

/** Each client has its own address. */
function agentOf(client: number): Agent {
  return new Agent({ connections: 1, connect: { localAddress: `127.0.${1 + (client >> 7)}.${1 + (client & 127)}` } })
}

function sendTo(edge: RunningEdge, dispatcher: Agent): Send {
  return async (path, authorization, method = 'GET') => {
    const { statusCode, headers, body } = await request(edge.url + path, {
      method,
      headers: { authorization },
      dispatcher,
    })
    return { status: statusCode, text: await body.text(), retryAfter: Number(headers['retry-after'] ?? Number.NaN) }
  }
}

function basicOf({ mode }: BudgetRow, edge: RunningEdge, client: number): string {
  return mode === 'service' ? edge.authorization('admin') : `Basic ${btoa(`${nameOf(client)}:${PASSWORD}`)}`
}

const LOGIN = '/security/user/authenticate?raw=true'

/** Returns the answer to each read without a limit, one after the other. */
async function readEach(row: BudgetRow, simulator: Simulator): Promise<ReadonlyMap<string, Answer>> {
  const edge = await startFor(row, simulator, { perMinute: 0 })
  const dispatcher = agentOf(0)
  try {
    const send = sendTo(edge, dispatcher)
    const basic = basicOf(row, edge, 0)
    const authorization = row.contract === 'v3' ? basic : `Bearer ${(await send(LOGIN, basic, 'POST')).text}`
    const answers = new Map<string, Answer>()
    for (const path of READS[row.contract]) answers.set(path, await send(path, authorization))
    return answers
  } finally {
    await dispatcher.close()
    await edge.close()
  }
}

/** Texts that change while the simulated cluster runs. */
const TIMES = /"(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^"]*|\w{3} \w{3} \d\d \d\d:\d\d:\d\d UTC \d{4})"/g

function isEqual(answer: Answer, expected: Answer | undefined): boolean {
  if (expected === undefined) return false
  return answer.status === expected.status && withoutTimes(answer) === withoutTimes(expected)
}

function withoutTimes({ text }: Answer): string {
  return text.replaceAll(TIMES, '""')
}

type Taken = Pick<BudgetFigures, 'right' | 'refused' | 'repeated' | 'wrong' | 'first'>

async function runClients(
  options: BudgetOptions,
  edge: RunningEdge,
  expected: ReadonlyMap<string, Answer>,
): Promise<Taken> {
  const { contract, clients, seconds, pause } = options
  const begun = performance.now()
  const end = begun + 1000 * seconds
  const [right, refused] = [new Map<number, number>(), new Map<string, number>()]
  const repeated = { all: 0, right: 0 }
  const wrong: string[] = []
  const first = Array<number>(clients).fill(Number.POSITIVE_INFINITY)

  /** Repeats a request after each 503, when `Retry-After` says. Returns the right answer; `undefined`: there is none until the end. */
  const insist = async (ask: () => Promise<Answer>, isRight: (answer: Answer) => boolean, what: string) => {
    for (let isRepeated = false; performance.now() < end; isRepeated = true) {
      const answer = await ask()
      const { status, retryAfter, text } = answer
      if (isRepeated) repeated.all += 1
      if (isRight(answer)) {
        if (isRepeated) repeated.right += 1
        add(right, status)
        return answer
      }
      const isTold = status === 503 && retryAfter >= 1 && retryAfter <= MAX_RETRY_AFTER_S
      if (isTold) add(refused, reasonOf(text))
      else wrong.push(`${what}: ${status} ${text.slice(0, 200)}`)
      await wait(isTold ? 1000 * retryAfter : pause)
    }
    return undefined
  }

  const run = async (client: number) => {
    const dispatcher = agentOf(client)
    const send = sendTo(edge, dispatcher)
    const basic = basicOf(options, edge, client)
    let authorization: string | undefined = basic
    if (contract === 'v4') {
      const isToken = ({ status, text }: Answer) => status === 200 && text.split('.').length === 3
      const token = await insist(() => send(LOGIN, basic, 'POST'), isToken, 'login')
      authorization = token && `Bearer ${token.text}`
    }
    while (authorization !== undefined && performance.now() < end) {
      const [path] = [...expected.keys()].toSorted(() => Math.random() - 0.5)
      const [sent, of] = [authorization, path ?? '/']
      const answer = await insist(
        () => send(of, sent),
        (found) => isEqual(found, expected.get(of)),
        of,
      )
      if (answer !== undefined) first[client] = Math.min(first[client] ?? 0, performance.now() - begun)
      await wait(pause * (1 + Math.random()))
    }
    await dispatcher.close()
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client)))
  return { right, refused, repeated, wrong, first }
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function reasonOf(text: string): string {
  return /"(?:message|detail)":\s*"([^"]*)/.exec(text)?.[1] ?? text.slice(0, 100)
}

/** Returns the most of ascending times within a span. */
export function mostWithin(times: readonly number[], span: number): number {
  let [most, from] = [0, 0]
  for (const [at, time] of times.entries()) {
    while ((times[from] ?? time) <= time - span) from += 1
    most = Math.max(most, at - from + 1)
  }
  return most
}
