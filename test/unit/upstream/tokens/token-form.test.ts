/** The response to a login is foreign input: what is not a token is an unreadable response, and is never sent. */
import t from 'tap'
import { parseLogin } from '../../../../src/upstream/tokens/token.ts'
import { get } from '../fake-node.ts'
import { json, startTokenTest } from './v4-node.ts'

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = part({ nbf: 1000, exp: 1900 })
const clock = { elapsed: () => 0, wall: () => 1_500_000 }
const parse = (token: unknown) => parseLogin(Buffer.from(JSON.stringify({ data: { token }, error: 0 })), clock)

t.test('only the three parts of a JWT with a time of its end are a token', async (t) => {
  t.equal(parse(`e30.${claims}.sig_-`)?.header(), `Bearer e30.${claims}.sig_-`)
  const refused: unknown[] = [
    undefined,
    null,
    7,
    '',
    'opaque',
    `e30.${claims}`,
    `e30.${claims}.sig.more`,
    `e30.${claims}.sig\r\nx: y`,
    `e30.${claims}.sig\n`,
    `e30.${claims}.s g`,
    `e30.${claims}.ÿ`,
    `e30.${claims}.${'x'.repeat(4096)}`,
    'e30.e30.sig',
    `e30.${part('text')}.sig`,
    `e30.${part({ exp: '1900' })}.sig`,
    `e30.${part({ exp: null })}.sig`,
    `e30.${part({ nbf: 'x', exp: 1900 })}.sig`,
    `e30.${part({ nbf: 1900, exp: 1900 })}.sig`,
    `e30.${part({ nbf: 1901, exp: 1900 })}.sig`,
    `e30.${Buffer.from('{"nbf":0,"exp":1e999}').toString('base64url')}.sig`,
    'e30.!!!.sig',
  ]
  for (const token of refused) t.equal(parse(token), undefined, String(token).slice(0, 60))
  for (const body of ['', '[]', 'null', '{"data":[]}', '{"data":{"__proto__":{"token":"a.b.c"}}}'])
    t.equal(parseLogin(Buffer.from(body), clock), undefined, body)
})

t.test('without a time of its start, a token ends by the clock of the edge', async (t) => {
  const time = { now: 0 }
  const token = parseLogin(Buffer.from(JSON.stringify({ data: { token: `e30.${part({ exp: 1600 })}.sig` } })), {
    elapsed: () => time.now,
    wall: () => 1_500_000,
  })
  time.now = 99_999
  t.equal(token?.hasExpired, false)
  time.now = 100_000
  t.equal(token?.hasExpired, true)
})

t.test('no dump of a token shows its text', async (t) => {
  const token = parse(`e30.${claims}.secret-part`)
  const { inspect } = await import('node:util')
  t.notMatch(inspect(token, { showHidden: true, depth: 9 }) + JSON.stringify(token), /secret-part/)
})

t.test('a login without a token is an unreadable response, and the call is not sent', async (t) => {
  const { node, calls } = await startTokenTest(t)
  node.answerLogin = (_, response) => json(response, { data: { token: 'opaque' }, error: 0 })
  t.match(await calls.call(get()), { ok: false, fault: 'unreadable', sent: false })
  node.answerLogin = (_, response) => json(response, { data: { token: 'x'.repeat(20_000) }, error: 0 })
  t.match(await calls.call(get()), { ok: false, sent: false })
  t.equal(node.headers.length, 0)
})
