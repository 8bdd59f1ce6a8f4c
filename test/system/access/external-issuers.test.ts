import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createKeySetFetcher, IssuerKeys } from '../../../src/access/issuer-keys.ts'
import type { ExternalIssuerSettings } from '../../../src/access/token-issuers.ts'
import { systemClock } from '../../../src/core/timing.ts'
import { bearer, issuerDefaults, startEdge } from './edge.ts'
import { forge } from './forge.ts'

const issuer = 'https://id.example'
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = (kid: string, { publicKey }: { publicKey: KeyObject }, more = {}) => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  ...more,
})

/** An issuer's key set on a real socket; `keys` undefined: it is out of order. */
async function identityProvider(t: Test, keys: object[] | undefined) {
  const state = { keys, fetches: 0 }
  const server = createServer((_request, response) => {
    state.fetches++
    response.statusCode = state.keys === undefined ? 500 : 200
    response.end(JSON.stringify({ keys: state.keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { state, jwks: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks` }
}

async function start(t: Test, keys: object[] | undefined, settings: Partial<ExternalIssuerSettings> = {}) {
  const provider = await identityProvider(t, keys)
  const time = { elapsed: 0 }
  const edge = await startEdge(t, {
    tokens: {
      lifetime: () => 900,
      issuers: [{ issuer, audience: 'manager', jwks: provider.jwks, ...issuerDefaults, ...settings }],
    },
    clock: { wall: () => Date.now(), elapsed: () => time.elapsed },
  })
  return { edge, time, ...provider }
}

function claims(more: object = {}) {
  const iat = Math.floor(Date.now() / 1000)
  return {
    iss: issuer,
    aud: ['other', 'manager'],
    sub: 'carol',
    iat,
    exp: iat + 600,
    jti: 'one',
    roles: ['reader', 'staff'],
    ...more,
  }
}

t.test('a token of an external issuer is verified with its key set and has the roles of its claim', async (t) => {
  const { edge, state } = await start(t, [jwk('r', rsa), jwk('e', ec, { alg: 'ES256', use: 'sig' })])
  const byRsa = forge({ alg: 'RS256', typ: 'JWT', kid: 'r' }, claims(), rsa.privateKey, 'sha256')
  const byEc = forge({ alg: 'ES256', typ: 'at+jwt', kid: 'e' }, claims({ jti: 'two' }), ec.privateKey, 'sha256')
  for (const token of [byRsa, byEc, byRsa]) {
    const reply = await edge.ask([bearer(token)])
    t.match(JSON.parse(reply.text), { name: `${issuer}#carol`, permissions: ['*:read'], token: { issuer } })
  }
  t.equal(state.fetches, 1, 'keys are cached')
  await edge.ask([bearer(byRsa)], 'DELETE /security/user/authenticate')
  t.equal((await edge.ask([bearer(byRsa)])).status, 401, 'revoked here')
  t.equal((await edge.ask([bearer(byEc)])).status, 401, 'and all others of that user')
})

t.test('only configured algorithms, keys and claims are accepted', async (t) => {
  const { edge } = await start(t, [jwk('r', rsa), jwk('p', rsa, { alg: 'PS256' }), jwk('e', ec, { use: 'enc' })])
  const { privateKey } = rsa
  const rows = {
    'an algorithm that the key is not for': forge(
      { alg: 'RS512', typ: 'JWT', kid: 'r' },
      claims(),
      privateKey,
      'sha512',
    ),
    'an algorithm that is not allowed': forge({ alg: 'PS256', typ: 'JWT', kid: 'p' }, claims(), privateKey, 'sha256'),
    'a key for encryption': forge({ alg: 'ES256', typ: 'JWT', kid: 'e' }, claims(), ec.privateKey, 'sha256'),
    'x5u beside a good signature': forge(
      { alg: 'RS256', typ: 'JWT', kid: 'r', x5u: 'http://x' },
      claims(),
      privateKey,
      'sha256',
    ),
    'a token of our name by their key': forge(
      { alg: 'RS256', typ: 'JWT', kid: 'r' },
      claims({ iss: 'manager-edge' }),
      privateKey,
      'sha256',
    ),
    'no jti': forge({ alg: 'RS256', typ: 'JWT', kid: 'r' }, claims({ jti: undefined }), privateKey, 'sha256'),
    'too long a life': forge(
      { alg: 'RS256', typ: 'JWT', kid: 'r' },
      claims({ exp: claims().iat + 3601 }),
      privateKey,
      'sha256',
    ),
  }
  for (const [name, token] of Object.entries(rows)) t.equal((await edge.ask([bearer(token)])).status, 401, name)
})

t.test(
  'forty unknown keys cause one request to the issuer in thirty seconds, and a rotated key is found afterwards',
  async (t) => {
    const next = generateKeyPairSync('ed25519')
    const { edge, state, time } = await start(t, [jwk('r', rsa)])
    const token = (kid: string) => forge({ alg: 'EdDSA', typ: 'JWT', kid }, claims(), next.privateKey)
    const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => edge.ask([bearer(token(`k${index}`))])))
    t.same(new Set(replies.map(({ status }) => status)), new Set([401]))
    t.equal(state.fetches, 1)
    state.keys = [jwk('n', next)]
    time.elapsed += 29_000
    t.equal((await edge.ask([bearer(token('n'))])).status, 401, 'not yet asked again')
    time.elapsed += 2000
    t.equal((await edge.ask([bearer(token('n'))])).status, 200)
    t.equal(state.fetches, 2)
  },
)

t.test('if the issuer is down, tokens with unknown keys get 503 and tokens with known keys work', async (t) => {
  const { edge, state, time } = await start(t, undefined)
  const token = forge({ alg: 'RS256', typ: 'JWT', kid: 'r' }, claims(), rsa.privateKey, 'sha256')
  const reply = await edge.ask([bearer(token)])
  t.equal(reply.status, 503)
  t.equal(reply.headers['retry-after'], '30')
  state.keys = [jwk('r', rsa)]
  time.elapsed += 31_000
  t.equal((await edge.ask([bearer(token)])).status, 200)
  state.keys = undefined
  time.elapsed += 3_600_000
  t.equal((await edge.ask([bearer(token)])).status, 200, 'an hour later, without the issuer')
  time.elapsed += 24 * 3_600_000
  t.equal((await edge.ask([bearer(token)])).status, 503, 'a day later its keys are not trusted any more')
})

t.test('roles come from another claim and are mapped; tokens without jti are identified by a digest', async (t) => {
  const { edge } = await start(t, [jwk('r', rsa)], {
    rolesClaim: 'realm_access.roles',
    roles: { 'soc-admins': ['administrator'] },
    jti: 'optional',
  })
  const shown = claims({ jti: undefined, realm_access: { roles: ['soc-admins', 'administrator', 'constructor'] } })
  const reply = await edge.ask([bearer(forge({ alg: 'RS256', typ: 'JWT', kid: 'r' }, shown, rsa.privateKey, 'sha256'))])
  t.match(JSON.parse(reply.text), { permissions: ['*'], token: { jti: /^sha256:/ } })
  const plain = claims({ jti: undefined, realm_access: { roles: ['administrator'] } })
  const none = await edge.ask([bearer(forge({ alg: 'RS256', typ: 'JWT', kid: 'r' }, plain, rsa.privateKey, 'sha256'))])
  t.same(JSON.parse(none.text).permissions, [], 'a word without a meaning grants nothing')
})

t.test('a weak key verifies no token', async (t) => {
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const { edge } = await start(t, [jwk('small', small), jwk('r', rsa)])
  const signed = (kid: string, key: KeyObject) =>
    bearer(forge({ alg: 'RS256', typ: 'JWT', kid }, claims(), key, 'sha256'))
  t.equal((await edge.ask([signed('small', small.privateKey)])).status, 401)
  t.equal((await edge.ask([signed('r', rsa.privateKey)])).status, 200)
})

t.test('private and duplicate keys of a key set are skipped', async (t) => {
  const secret = { kty: 'oct', k: 'c2VjcmV0', kid: 's' }
  const leaked = { ...ec.privateKey.export({ format: 'jwk' }), kid: 'd' }
  const odd = [null, 'x', {}, secret, leaked, jwk('r', rsa), jwk('r', ec), jwk('e', rsa, { alg: 'ES256' })]
  const keys = keysOf(JSON.stringify({ keys: odd }))
  t.match(await keys.find('r'), { ok: true, key: { algorithm: 'RS256' } })
  for (const kid of ['d', 'e', String(secret.kid)]) t.match(await keys.find(kid), { ok: false, reason: 'unknown' }, kid)
  t.match(await keysOf('{"keys":{}}').find('r'), { ok: false, reason: 'unavailable' })
  t.throws(() => createKeySetFetcher('http://id.example/jwks'), /https/)
})

function keysOf(text: string): IssuerKeys {
  const fetchKeySet = async () => text
  return new IssuerKeys({ issuer: 'i', algorithms: ['RS256', 'ES256'], fetchKeySet, clock: systemClock, log: () => {} })
}

t.test('an endless key set is cut off', async (t) => {
  const server = createServer((_request, response) => {
    const more = setInterval(() => response.write('x'.repeat(65_536)), 1)
    response.on('close', () => clearInterval(more))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  await t.rejects(createKeySetFetcher(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)(), /longer than/)
})
