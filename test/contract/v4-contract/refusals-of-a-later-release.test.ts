/** In front of nodes of 4.14.7, requests that 4.5.4 refuses have the status and the title of 4.14.7, as measured there. */
import t from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { minorOf } from '../../../src/core/node-call.ts'
import type { Outcome } from './edge-and-node.ts'
import { type ContractExchange, problemOf } from './exchanges.ts'
import { replayRefusals } from './replay.ts'

const removed = new Set(
  v4Contract
    .filter(({ releases }) => (minorOf(releases?.until) ?? Number.POSITIVE_INFINITY) < 14)
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`),
)

/** Returns status and title of 4.14.7. */
function laterOf({ operation, note, response: { status, body } }: ContractExchange): readonly [number, unknown] {
  if (removed.has(operation ?? '')) return [404, 'Not Found']
  if (note === 'wrong content type') return [415, 'Unsupported Media Type']
  return [status, problemOf(body).title]
}

function differences(exchange: ContractExchange, { status, text, calls }: Outcome): readonly string[] {
  const { request, response } = exchange
  // A body that declares no type has the right one there, so the node decides.
  if (response.status === 406 && request.contentType === undefined) return []
  const [expected, title] = laterOf(exchange)
  const shown = `${status} ${problemOf(text).title} after ${calls.length} calls`
  return shown === `${expected} ${title} after 0 calls` ? [] : [`${shown} instead of ${expected} ${title}`]
}

t.test('recorded refusals, in front of a later release', async (t) => {
  const results = await replayRefusals(differences, '4.14.7')
  for (const { name, differences } of results) t.strictSame(differences, [], name)
  t.ok(results.length > 1_200, `${results.length} exchanges`)
})
