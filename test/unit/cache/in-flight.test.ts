import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { InFlightMap } from '../../../src/cache/in-flight-map.ts'
import { removeFrom } from '../../../src/core/in-flight-list.ts'

setFlagsFromString('--expose-gc')
const collect: (options?: { readonly type: 'minor' }) => void = runInNewContext('gc')

const VALUES = 2000
const IN_FLIGHT = 4
const BYTES_PER_VALUE = 2000

const oldBytes = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0

/** Returns the share of the values that young collections leave in memory. */
function shareLeft(add: (key: string, value: object) => void, remove: (key: string) => void): number {
  const pass = () => {
    for (let at = 0; at < VALUES; at += 1) {
      add(`${at}`, new Array(BYTES_PER_VALUE / 8).fill(0))
      remove(`${at - IN_FLIGHT}`)
      if (at % 50 === 0) collect({ type: 'minor' })
    }
  }
  pass()
  // What is in use now is old from now on.
  collect()
  const before = oldBytes()
  pass()
  return (oldBytes() - before) / (VALUES * BYTES_PER_VALUE)
}

t.test('young collections free what is no longer in flight', async (t) => {
  const map = new InFlightMap<object>()
  const ofMap = shareLeft(
    (key, value) => map.set(key, value),
    (key) => map.delete(key),
  )
  const list: { readonly key: string; readonly value: object }[] = []
  const ofList = shareLeft(
    (key, value) => list.push({ key, value }),
    (key) => list.some((item) => item.key === key && removeFrom(list, item)),
  )
  t.ok(ofMap < 0.2, `in a map: ${ofMap}`)
  t.ok(ofList < 0.2, `in a list: ${ofList}`)
})

t.test('a map has what was set last, and nothing that was deleted', async (t) => {
  const map = new InFlightMap<number>()
  map.set('a', 1)
  map.set('a', 2)
  map.set('b', 3)
  map.delete('b')
  map.delete('c')
  t.strictSame([map.get('a'), map.get('b'), map.get('c')], [2, undefined, undefined])
})

t.test('a list keeps its order', async (t) => {
  const list = ['a', 'b', 'c', 'd']
  t.strictSame([removeFrom(list, 'c'), removeFrom(list, 'a'), removeFrom(list, 'c')], [true, true, false])
  t.strictSame(list, ['b', 'd'])
})
