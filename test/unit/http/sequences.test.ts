/** A client that always has a request waiting is bulk, and people who read other things are not, whatever their connections. */
import { array, assert, integer, property } from 'fast-check'
import t from 'tap'
import { PAUSE_MS } from '../../../src/core/node-call.ts'
import { type KindParts, kindOf, Sequences } from '../../../src/http/sequences.ts'
import { edgeRequest } from '../../support/edge-requests.ts'

interface Sent {
  readonly caller?: string
  /** Absent: each request has a new one. */
  readonly connection?: number
  readonly kind?: string
}

/** Sends requests of `takes` ms with a pause of `pause` ms after each for 20 s. Returns when the first one was bulk. */
function firstBulk(takes: number, pause: number, sent: (at: number) => Sent): number | undefined {
  let now = 0
  const sequences = new Sequences(() => now)
  for (; now < 20_000; now += pause) {
    const { caller = 'ann', connection, kind = '/agents' } = sent(now / (takes + pause))
    const flow = sequences.begin(caller, kind, connection)
    if (flow.isBulk) return now
    now += takes
    flow.end()
  }
  return undefined
}

const PATHS = ['/agents', '/rules', '/decoders', '/manager/info']

t.test('requests that follow each other for 5 s are bulk, whatever each of them takes', (t) => {
  for (const connection of [1, undefined]) {
    for (const takes of [20, 400, 4000]) {
      for (const pause of [0, 10, 480]) {
        const first = firstBulk(takes, pause, () => ({ ...(connection && { connection }) })) ?? 0
        t.ok(first >= 5000 && first < 5000 + takes + pause, `${takes} ms, pause ${pause} ms: after ${first} ms`)
      }
    }
  }
  t.end()
})

t.test('a client that pauses is never bulk', (t) => {
  for (const takes of [20, 400, 4000])
    t.equal(
      firstBulk(takes, 600, () => ({ connection: 1 })),
      undefined,
      `${takes} ms`,
    )
  t.end()
})

t.test('callers behind a balancer, on one connection, are distinguished', (t) => {
  t.equal(
    firstBulk(50, 0, (at) => ({ caller: `user${at % 20}`, connection: 1 })),
    undefined,
  )
  t.end()
})

t.test('people who share an account and the connections of a pool are not bulk', (t) => {
  t.equal(
    firstBulk(20, 200, (at) => ({ connection: 1, kind: PATHS[at % PATHS.length] ?? '' })),
    undefined,
  )
  t.end()
})

t.test('a request that has waited for others while its kind became bulk is bulk', (t) => {
  let now = 0
  const sequences = new Sequences(() => now)
  const flow = sequences.begin('ann', '/agents', 1)
  t.notOk(flow.isBulk)
  now = 5000
  t.ok(flow.isBulk)
  t.end()
})

t.test('bulk requests of a kind take turns by connection, others by kind', (t) => {
  let now = 0
  const sequences = new Sequences(() => now)
  const name = (connection: number) => sequences.begin('ann', '/agents', connection).name
  t.equal(name(1), name(2))
  now = 5000
  t.not(name(1), name(2))
  t.end()
})

interface Client {
  readonly takes: number
  /** After the answer, and after the seconds of `Retry-After`. */
  readonly pause: number
  readonly retryAfter?: number
}

/** Returns which requests of a client are bulk, beside a script of its party that always has one of the same kind waiting. */
function bulkBesideScript({ takes, pause, retryAfter = 0 }: Client): readonly boolean[] {
  let now = 0
  const sequences = new Sequences(() => now)
  sequences.begin('ann', '/agents', 1)
  now = 5000
  return Array.from({ length: 20 }, () => {
    const flow = sequences.begin('ann', '/agents', 2)
    const { isBulk = false } = flow
    now += takes
    if (retryAfter > 0) flow.refuse?.(retryAfter)
    flow.end()
    now += 1000 * retryAfter + pause
    return isBulk
  })
}

const takes = integer({ min: 1, max: 10_000 })
const shortPause = integer({ min: 0, max: PAUSE_MS - 1 })

t.test('a connection that pauses for as long as its requests take is sparse: only its first one is bulk', (t) => {
  const thinks = integer({ min: 0, max: 10_000 })
  const isNotBulk = property(takes, thinks, (takes, more) => {
    const [first, ...later] = bulkBesideScript({ takes, pause: Math.max(takes, PAUSE_MS) + more })
    return first === true && !later.includes(true)
  })
  void assert(isNotBulk)
  t.end()
})

t.test('a connection without pauses is bulk, also if its requests are refused and it obeys Retry-After', (t) => {
  const isBulk = property(takes, shortPause, integer({ min: 0, max: 240 }), (takes, pause, retryAfter) => {
    return !bulkBesideScript({ takes, pause, retryAfter }).includes(false)
  })
  void assert(isBulk)
  t.end()
})

t.test('a sparse connection is a separate flow, and bulk once its requests follow each other again', (t) => {
  let now = 0
  const sequences = new Sequences(() => now)
  const script = sequences.begin('ann', '/agents', 1)
  sequences.begin('ann', '/rules', 2).end()
  now = 10_000
  const flow = sequences.begin('ann', '/agents', 2)
  t.match(
    [script, flow],
    [
      { name: 1, isBulk: true },
      { name: 2, isBulk: false },
    ],
  )
  now = 30_000
  t.ok(flow.isBulk)
  t.end()
})

function beginRead(sequences: Sequences, request: KindParts, connection: number | undefined) {
  const { kind, page } = kindOf(request)
  return sequences.begin('ann', kind, connection, page)
}

/** Reads the pages at these offsets of a collection. Returns which of them are bulk. */
function bulkPages(
  offsets: readonly number[],
  { pause = 0, connection = 1 as number | undefined, path = '/rules' } = {},
) {
  let now = 0
  const sequences = new Sequences(() => now)
  return offsets.map((offset) => {
    const request = edgeRequest(`GET ${path}`, { query: { offset: String(offset), limit: '20' } })
    const flow = beginRead(sequences, request, connection)
    const { isBulk } = flow
    now += 10
    flow.end()
    now += pause
    return isBulk
  })
}

const offsetsOfWalk = array(integer({ min: 1, max: 500 }), { minLength: 2, maxLength: 8 }).map((steps) =>
  steps.map((_, at) => steps.slice(0, at).reduce((sum, step) => sum + step, 0)),
)

t.test('each page that continues a walk is bulk, on one connection or on a new one for each page', (t) => {
  const isBulk = property(offsetsOfWalk, shortPause, (offsets, pause) =>
    [1, undefined].every((connection) => {
      const [first, ...later] = bulkPages(offsets, { pause, connection })
      return first === false && !later.includes(false)
    }),
  )
  void assert(isBulk)
  t.end()
})

t.test('pages that a person reads, and pages that come again, are not bulk', (t) => {
  t.notOk(bulkPages([0, 20, 40], { pause: PAUSE_MS }).includes(true), 'with a pause between them')
  t.notOk(bulkPages([40, 40, 20, 0]).includes(true), 'the same page, and earlier ones')
  const sequences = new Sequences(() => 0)
  const begin = (path: string, connection: number, offset: string, filters = {}) => {
    const request = edgeRequest(`GET ${path}`, { query: { ...filters, offset } })
    return beginRead(sequences, request, connection)
  }
  const others = [
    begin('/rules', 1, '0'),
    begin('/decoders', 1, '20'),
    begin('/rules', 2, '20'),
    begin('/rules', 1, '20', { search: 'ssh' }),
  ]
  t.notOk(
    others.some(({ isBulk }) => isBulk),
    'another collection, another connection, another search',
  )
  const walk = begin('/rules', 1, '20')
  t.ok(walk.isBulk)
  t.not(walk.name, begin('/agents', 1, '20').name, 'other reads of the connection are in another flow')
  t.end()
})

t.test('a page of a walk that is refused continues the walk when it comes again after Retry-After', (t) => {
  let now = 0
  const sequences = new Sequences(() => now)
  const begin = (offset: number) => {
    const request = edgeRequest('GET /rules', { query: { offset: String(offset) } })
    const flow = beginRead(sequences, request, 1)
    flow.end()
    return flow
  }
  begin(0)
  for (const retryAfter of [1, 30]) {
    const flow = begin(20)
    t.ok(flow.isBulk)
    flow.refuse?.(retryAfter)
    now += 1000 * retryAfter + PAUSE_MS - 1
  }
  t.ok(begin(20).isBulk)
  now += PAUSE_MS
  begin(0).refuse?.(1)
  now += 1000
  t.notOk(begin(0).isBulk, 'a first page')
  t.end()
})

const read = (path: string, query: Record<string, string> = {}, params: Record<string, string> = {}) =>
  kindOf(edgeRequest(`GET ${path}`, { query, params })).kind

t.test('pages and agents are one kind, and other responses one for each path', (t) => {
  const walk = read('/agents', { offset: '20', limit: '20' })
  t.equal(read('/rules', { offset: '40' }), walk)
  t.equal(read('/syscollector/:agent_id/os', {}, { agent_id: '001' }), walk)
  const responses = [read('/agents', { offset: '0', limit: '20' }), read('/rules'), read('/manager/info')]
  t.equal(new Set([walk, ...responses]).size, 4)
  t.end()
})
