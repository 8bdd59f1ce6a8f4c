/**
 * The recordings of release 5.0 through a whole edge, in front of a master that gives the recorded responses: v4 clients get
 * what they get from the node, with the differences below. What the edge refuses is no call.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { startEdgeAndNode } from './edge-and-node.ts'
import { type ContractExchange, isRefusal, nameOf } from './exchanges.ts'

const text = readFileSync(new URL('../exchanges/release-5.jsonl', import.meta.url), 'utf8')
const exchanges = text
  .trim()
  .split('\n')
  .map((line, index) => withUser({ ...(JSON.parse(line) as ContractExchange), line: index + 1 }))

/** The recording does not name the user who may read one agent only. */
function withUser(exchange: ContractExchange): ContractExchange {
  return /^user who may read/.test(exchange.note ?? '') ? { ...exchange, user: 'reader' } : exchange
}

type Which = (exchange: ContractExchange) => boolean
const noted =
  (pattern: RegExp): Which =>
  ({ note }) =>
    pattern.test(note ?? '')
const isLogin: Which = ({ request: { path } }) => path.startsWith('/security/user/authenticate')

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
  { reason: 'listeners of the edge have no HEAD in this contract', which: noted(/^HEAD$/), status: 405 },
  {
    reason: 'a search of more than 1,000 bytes stops a node (cluster.guards)',
    which: ({ request: { path } }) => path.length > 1_000,
    status: 400,
  },
  {
    reason: 'the node decides in which folders packages are',
    which: ({ request: { path } }) => path.startsWith('/agents/upgrade_custom'),
    isPassedOn: true,
  },
]

/** The edge has users, tokens and limits of its own, and placeholders are no keys. */
const NOT_COMPARED: readonly Which[] = [
  isLogin,
  noted(/max_request_per_minute|address blocked|wrong password/),
  noted(/^new token at once$|^token after/),
  ({ request: { body = '' } }) => body.includes('<KEY>') || /^<\d+ bytes>$/.test(body),
]

t.test('the recordings of release 5.0', async (t) => {
  const edge = await startEdgeAndNode('5.0.0')
  t.teardown(() => edge.close())
  const compared = exchanges.filter((exchange) => !NOT_COMPARED.some((which) => which(exchange)))
  let [equal, intended] = [0, 0]
  for (const exchange of compared) {
    await edge.clear()
    const outcome = await edge.send(exchange)
    const { status, body } = exchange.response
    const isEqual = outcome.status === status && isDeepStrictEqual(parsed(outcome.text), parsed(body))
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
  t.comment(
    `${exchanges.length} recordings, ${compared.length} compared, ${equal} equal, ${intended} with an intended difference`,
  )
  t.ok(equal > 680, `${equal}`)
})

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body.trim()
  }
}
