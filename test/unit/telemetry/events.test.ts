import t from 'tap'
import { createEdgeEvents } from '../../../src/telemetry/events.ts'
import { requestEvent } from '../../support/request-event.ts'

t.test('all listeners receive an event, in the order in which they were added, until they are removed', (t) => {
  const { emit, on } = createEdgeEvents()
  const seen: string[] = []
  const off = on({ storeEvent: (event) => void seen.push(`first ${event}`) })
  on({ storeEvent: (event) => void seen.push(`second ${event}`), redisStep: ({ ms }) => void seen.push(`${ms} ms`) })
  emit.storeEvent('unreachable')
  emit.redisStep({ outcome: 'done', ms: 3 })
  off()
  emit.storeEvent('reachable')
  t.strictSame(seen, ['first unreachable', 'second unreachable', '3 ms', 'second reachable'])
  t.end()
})

t.test('an error of a listener reaches neither the other listeners nor the room that has emitted', (t) => {
  const errors: string[] = []
  const { emit, on, requests } = createEdgeEvents((error, kind) => void errors.push(`${kind}: ${error}`))
  const kinds = Object.keys(emit) as (keyof typeof emit)[]
  const seen: string[] = []
  const fail = () => {
    throw new Error('the metrics failed')
  }
  on(Object.fromEntries(kinds.map((kind) => [kind, fail])))
  on(Object.fromEntries(kinds.map((kind) => [kind, () => seen.push(kind)])))
  for (const kind of kinds) emit[kind](requestEvent() as never)
  requests.drain()
  t.strictSame(seen.sort(), kinds.sort())
  t.strictSame(
    errors.sort(),
    kinds.map((kind) => `${kind}: Error: the metrics failed`),
  )
  t.end()
})

t.test('a listener is called with its object as this', (t) => {
  const { emit, on } = createEdgeEvents()
  class Counter {
    #count = 0
    storeEvent(): void {
      this.#count += 1
    }
    get count(): number {
      return this.#count
    }
  }
  const counter = new Counter()
  on(counter)
  emit.storeEvent('unreachable')
  t.equal(counter.count, 1)
  t.end()
})
