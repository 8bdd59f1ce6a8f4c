/** The event of a request has the age of its response, as `Age` has it: served, fetched, made of marked parts, or repeated. */

import t from 'tap'
import { OUTAGE } from '../../../src/core/cache.ts'
import type { RequestEvent } from '../../../src/core/events.ts'
import { NO_PARTS } from '../../../src/core/origins.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { OF_NODE } from '../../../src/layouts/dialect.ts'
import { eventually } from '../../support/eventually.ts'
import { storedResponse } from '../../support/stored-response.ts'
import { cachedResponse, repeating, startServer, uncachedResponse } from './test-server.ts'

const body = Buffer.from('{"error":0,"data":"x"}')
const HOUR = 3_600_000

const fetched = (age: number): EdgeResponse => ({
  ...uncachedResponse(body),
  origin: { kind: 'fetched', response: storedResponse(body), age, status: { fwd: 'uri-miss', ttl: 1 }, from: OF_NODE },
})
const ofParts = (age: number): EdgeResponse => ({
  ...uncachedResponse(body),
  origin: {
    ...NO_PARTS,
    ...{ kind: 'joined', isUnfinished: false },
    ...{ completeness: 'partial', oldestPartAge: age, partsFreshFor: -1, mark: OUTAGE },
  },
})

const RESPONSES: readonly (readonly [string, EdgeResponse])[] = [
  ['fresh', cachedResponse(body, { hit: true, ttl: 4000 }, 1999)],
  ['in an outage', cachedResponse(body, { hit: true, ttl: 6000 - HOUR, detail: OUTAGE }, HOUR)],
  ['fetched', fetched(2500)],
  ['of marked parts', ofParts(HOUR)],
  ['not stored', uncachedResponse(body)],
]

for (const [name, response] of RESPONSES) {
  t.test(name, async (t) => {
    const events: RequestEvent[] = []
    const { send } = await startServer(
      t,
      repeating(() => response),
      { observe: (event) => void events.push({ ...event }) },
    )
    // The second one repeats a hit that is fresh.
    for (let sent = 1; sent <= 2; sent += 1) {
      const { headers } = await send('/agents?limit=1')
      await eventually(async () => events.length === sent)
      const { age } = events.at(-1) ?? {}
      const shown = age === undefined ? undefined : String(Math.floor(age / 1000))
      t.equal(shown, headers.age)
    }
  })
}
