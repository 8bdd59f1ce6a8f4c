import type { Test } from 'tap'
import { differenceOf } from './differences.ts'
import { type Exchange, isRefusal, json } from './exchanges.ts'
import type { Outcome } from './replay.ts'

/**
 * Compares the outcome with the recorded response or the intended difference; `calls` are the expected calls of the
 * node.
 */
export function check(t: Test, exchange: Exchange, outcome: Outcome, calls = 1): void {
  const difference = differenceOf(exchange)
  const { response } = exchange
  const expected = difference?.expect?.(exchange)
  if (expected !== undefined) {
    t.equal(outcome.status, expected.status, 'status as intended')
    if (expected.error !== undefined) t.equal(json(outcome.text)?.error, expected.error, outcome.text)
    t.equal(outcome.calls, 0, 'no node was called')
    return
  }
  t.equal(outcome.status, response.status, `status; got ${outcome.text.slice(0, 200)}`)
  t.equal(outcome.type, typeOf(exchange), 'content type')
  if (exchange.request.method === 'HEAD') return void t.equal(outcome.text, '')
  const wanted = json(response.body)
  if (wanted === undefined) t.equal(outcome.text, response.body, 'raw bytes')
  else if (difference?.wordsOnly) t.equal(json(outcome.text)?.error, wanted.error)
  else if (response.body?.includes('\n')) t.equal(outcome.text, response.body, 'pretty, byte for byte')
  else t.strictSame(json(outcome.text), wanted)
  const called = !isRefusal(exchange) && response.status !== 401 && Number(wanted?.error) !== 603
  t.equal(outcome.calls, called ? calls : 0, called ? `${calls} calls to the node` : 'no node was called')
}

/** With `pretty` the media type is JSON too (docs/contract-decisions.md). */
export function typeOf({ response }: Exchange): string | undefined {
  return response.headers['content-type']?.replace('text/html', 'application/json')
}
