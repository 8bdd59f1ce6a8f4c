import fc from 'fast-check'
import t from 'tap'
import { parseToken } from '../../../src/access/tokens.ts'

const segment = (text: string) => Buffer.from(text).toString('base64url')
const compact = (header: string, claims: string) => `${segment(header)}.${segment(claims)}.${segment('signature')}`

t.test('a payload that JSON.stringify wrote is parsed unchanged', async (t) => {
  const named = fc.dictionary(
    fc.string().filter((name) => name !== '__proto__'),
    fc.jsonValue({ maxDepth: 2 }),
    { maxKeys: 5 },
  )
  const same = fc.property(named, (claims) => {
    const text = JSON.stringify(claims)
    fc.pre(text.length < 2500 && !text.includes('__proto__'))
    return JSON.stringify(parseToken(compact('{"alg":"EdDSA"}', text))?.payload) === text
  })
  t.doesNotThrow(() => fc.assert(same, { numRuns: 200 }))
})

t.test('no token has a second spelling', async (t) => {
  const token = compact('{"alg":"EdDSA"}', '{"sub":"bob"}')
  const parsed = parseToken(token)
  const edits = fc.property(fc.nat(token.length), fc.string({ maxLength: 2 }), fc.nat(2), (at, insert, remove) => {
    const changed = token.slice(0, at) + insert + token.slice(at + remove)
    if (changed === token || parseToken(changed) === undefined) return true
    const decoded = (text: string) => text.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    return decoded(changed).join('.') !== decoded(token).join('.')
  })
  t.not(parsed, undefined)
  t.doesNotThrow(() => fc.assert(edits, { numRuns: 500 }))
})

t.test('duplicate names and __proto__ are refused at any depth', async (t) => {
  const rows = [
    '{"a":1,"a":1}',
    '{"a":{"b":1,"b":2}}',
    '{"a":[{"b":1,"b":2}]}',
    '{"a":1,"\\u0061":2}',
    '{"x":{"__proto__":1}}',
    '{"a":1,"a" :2}',
  ]
  for (const text of rows) t.equal(parseToken(compact(text, '{}')), undefined, text)
  const fine = '{"a":"a","b":{"a":1},"c":[{"a":1},{"a":2}],"d":"\\"a\\":"}'
  t.not(parseToken(compact(fine, '{}')), undefined)
})
