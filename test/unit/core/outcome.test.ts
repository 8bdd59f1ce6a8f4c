import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { etagOf, isStorable, TRANSIENT } from '../../../src/core/outcome.ts'

const { framework } = parse(readFileSync(new URL('../../contract/data/errors.yaml', import.meta.url), 'utf8')) as {
  readonly framework: readonly { readonly code: number; readonly kind: string }[]
}

t.test('the codes for which a stale answer stands in are those that the contract calls transient', async (t) => {
  const transient = framework.filter(({ kind }) => kind === 'transient').map(({ code }) => code)
  t.strictSame([...TRANSIENT].sort(), transient.sort())
})

t.test('entity tags are strong, and differ with the bytes', async (t) => {
  t.match(etagOf(Buffer.from('a')), /^"[\w-]{27}"$/)
  t.equal(etagOf(Buffer.from('a')), etagOf(Buffer.from('a')))
  t.not(etagOf(Buffer.from('a')), etagOf(Buffer.from('b')))
})

t.test('whatever says an error anywhere in its envelope is not kept', async (t) => {
  const said = (text: string) => isStorable({ kind: 'json', status: 200, body: Buffer.from(text) })
  t.equal(said('{"error":0,"data":{"items":[{"error":"12"}]}}'), true, 'data may have a field of that name')
  t.equal(said('{"error":0,"data":{},"error":1701}'), false)
  t.equal(said('{"error":1701,"data":{}}'), false)
  t.equal(said('{"error":0,"data":{"failed_nodes":{}}}'), false)
})
