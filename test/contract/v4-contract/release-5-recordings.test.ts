/**
 * The recordings of release 5.0 through a whole edge, in front of a master that gives the recorded responses: v4 clients get
 * what they get from the node, with the differences below. What the edge refuses is no call.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { startEdgeAndNode } from './edge-and-node.ts'
import { type ContractExchange, isRefusal, nameOf } from './exchanges.ts'

// Busy cores need minutes. The suite ends a file that has no result for ten.
t.setTimeout(0)

/** Notes of recordings with a good token whose user is not named. */
const GOOD_TOKEN = /^(?:user who may read|new token at once|over max_request_per_minute|address blocked: a good token)/

const text = readFileSync(new URL('../exchanges/release-5.jsonl', import.meta.url), 'utf8')
const exchanges = text
  .trim()
  .split('\n')
  .map((line, index) => withUser({ ...(JSON.parse(line) as ContractExchange), line: index + 1 }))

function withUser(exchange: ContractExchange): ContractExchange {
  return GOOD_TOKEN.test(exchange.note ?? '') ? { ...exchange, user: 'reader' } : exchange
}

/** Notes of a node that is at its limit, or blocks the logins of an address: the edge has its own rules for that. */
const limits = /max_request_per_minute|wrong password|^address blocked(?!: a good token)/

type Which = (exchange: ContractExchange) => boolean
const noted =
  (pattern: RegExp): Which =>
  ({ note }) =>
    pattern.test(note ?? '')

/** How the edge answers, and why. `status` absent: that of the node. `isPassedOn`: the node refuses it. */
const DIFFERENCES: readonly {
  readonly reason: string
  readonly which: Which
  readonly status?: number
  readonly isPassedOn?: true
}[] = [
  { reason: 'the title says since when, and what replaces it', which: noted(/^gone with 5\.0$/) },
  {
    reason: 'the edge has another parser of JSON, which does not say where the text is broken',
    which: noted(/broken JSON/),
  },
  { reason: 'the node fails because of credentials that it cannot read', which: noted(/^broken Basic$/), status: 401 },
  {
    reason: 'the edge says how long to wait after too many failed logins (429), which end at its own listener',
    which: ({ note, response }) => limits.test(note ?? '') && response.status === 403,
    status: 429,
  },
  {
    reason: 'users of the edge have no authorization context; those of the manager have (cluster.credentials.mode)',
    which: ({ request: { path }, response }) => path.endsWith('/run_as') && response.status !== 400,
    status: 403,
  },
  {
    reason: 'an unknown path is no call, also while the node is at its limit',
    which: noted(/over max_request_per_minute, unknown path/),
    status: 404,
  },
  {
    reason:
      'the limit of a node is one for all clients: the edge says how long to wait (503), as for each fault of a node',
    which: noted(/^over max_request_per_minute$/),
    status: 503,
    isPassedOn: true,
  },
  {
    reason:
      'a search of more than 1,000 bytes stops a node (cluster.guards); the recording has no database behind the API',
    which: ({ request: { path } }) => path.length > 1_000,
    status: 400,
  },
  {
    reason: 'the node decides in which folders packages are',
    which: ({ request: { path } }) => path.startsWith('/agents/upgrade_custom'),
    isPassedOn: true,
  },
]

const MAX_FAILED_LOGINS = 4

const isGetOf =
  (path: string): Which =>
  ({ request, response }) =>
    request.method === 'GET' && request.path === path && response.status === 200

/** Placeholders of the recording stand for a key, and for a long body. */
function filled(exchange: ContractExchange): ContractExchange {
  const { body, ...request } = exchange.request
  const [, bytes] = /^<(\d+) bytes>$/.exec(body ?? '') ?? []
  const text =
    bytes === undefined
      ? body?.replace('<KEY>', 'a'.repeat(64))
      : JSON.stringify({ context: 'x'.repeat(Number(bytes)) })
  // The edge asks the node by GET.
  const isHead = request.method === 'HEAD'
  const response = (isHead && exchanges.find(isGetOf(request.path))?.response) || exchange.response
  return { ...exchange, request: { ...request, ...(text !== undefined && { body: text }) }, response }
}

/** Without what differs because the edge has its own users and tokens. */
function comparable(body: string): unknown {
  return parsed(body.replace(/("token": ?)"[^"]+"/, '$1"<TOKEN>"').replace(/User \w+ was/, 'User NAME was'))
}

t.test('the recordings of release 5.0', async (t) => {
  const edge = await startEdgeAndNode('5.0.0')
  const limited = await startEdgeAndNode('5.0.0', MAX_FAILED_LOGINS)
  t.teardown(() => Promise.all([edge.close(), limited.close()]))
  let [equal, intended] = [0, 0]
  for (const exchange of exchanges) {
    await edge.clear()
    const outcome = await (limits.test(exchange.note ?? '') ? limited : edge).send(filled(exchange))
    const { status, body } = exchange.response
    const isEqual = outcome.status === status && isDeepStrictEqual(comparable(outcome.text), comparable(body))
    const difference = DIFFERENCES.find(({ which }) => which(exchange))
    const isRefused = isRefusal(exchange) || difference?.status !== undefined
    if (isRefused && !difference?.isPassedOn) t.equal(outcome.calls.length, 0, `${nameOf(exchange)}: calls`)
    if (isEqual) equal += 1
    else if (difference !== undefined && outcome.status === (difference.status ?? status)) intended += 1
    else
      t.fail(
        `${nameOf(exchange)}: ${outcome.status} ${outcome.text.slice(0, 300)}, not ${status} ${body.slice(0, 300)}`,
      )
  }
  t.comment(`${exchanges.length} recordings, ${equal} equal, ${intended} with an intended difference`)
  t.equal(exchanges.length, 760)
  for (const { reason, which } of DIFFERENCES)
    t.ok(exchanges.some(which), `a difference that does not occur: ${reason}`)
  t.equal(equal, 735)
})

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body.trim()
  }
}
