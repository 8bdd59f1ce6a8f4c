import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import t, { type Test } from 'tap'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { basic, bearer, folder, passwords, startEdge, tokenOf } from './edge.ts'
import { forge, segment } from './forge.ts'

async function start(t: Test) {
  const keys = await folder(t)
  const file = await createKeyFile(keys)
  const edge = await startEdge(t, {
    tokens: { lifetime: () => 900, keys, issuers: [] },
  })
  const key = createPrivateKey(await readFile(file, 'utf8'))
  const header = { alg: 'EdDSA', typ: 'JWT', kid: basename(file, '.pem') }
  const now = Date.now()
  const iat = Math.floor(now / 1000)
  const claims = {
    iss: 'manager-edge',
    aud: 'manager-edge',
    sub: 'bob',
    iat,
    exp: iat + 900,
    jti: `${now}.${randomUUID()}`,
  }
  return { edge, key, header, claims }
}

t.test(
  'a forged token with the right key and claims is accepted, so that each row below has exactly one fault',
  async (t) => {
    const { edge, key, header, claims } = await start(t)
    t.equal((await edge.ask([bearer(forge(header, claims, key))])).status, 200)
  },
)

t.test('tokens with another header or another spelling are refused', async (t) => {
  const { edge, key, header, claims } = await start(t)
  const good = forge(header, claims, key)
  const [first = '', second = '', third = ''] = good.split('.')
  const publicPem = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
  const hmac = (alg: string, hash: string) => {
    const signed = `${segment({ ...header, alg })}.${second}`
    return `${signed}.${createHmac(hash, publicPem).update(signed).digest('base64url')}`
  }
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const spare = last[last.indexOf(third.at(-1) ?? '') ^ 1] ?? ''
  const rows: Record<string, string> = {
    'alg none': `${segment({ ...header, alg: 'none' })}.${second}.`,
    'alg None with a signature': forge({ ...header, alg: 'None' }, claims, key),
    'no signature': `${first}.${second}.`,
    'HS256 by the public key': hmac('HS256', 'sha256'),
    'HS384 by the public key': hmac('HS384', 'sha384'),
    'another accepted algorithm': forge({ ...header, alg: 'ES256' }, claims, key),
    'a foreign key': forge(header, claims, generateKeyPairSync('ed25519').privateKey),
    'kid with a path': forge({ ...header, kid: '../../users' }, claims, key),
    'kid of the prototype': forge({ ...header, kid: 'constructor' }, claims, key),
    'kid that is a list': forge({ ...header, kid: [header.kid] }, claims, key),
    'no kid': forge({ alg: 'EdDSA', typ: 'JWT' }, claims, key),
    'embedded key': forge({ ...header, jwk: createPublicKey(key).export({ format: 'jwk' }) }, claims, key),
    jku: forge({ ...header, jku: 'http://127.0.0.1/keys' }, claims, key),
    crit: forge({ ...header, crit: ['exp'] }, claims, key),
    b64: forge({ ...header, b64: false, crit: ['b64'] }, claims, key),
    'another typ': forge({ ...header, typ: 'at+jwt' }, claims, key),
    'no typ': forge({ alg: 'EdDSA', kid: header.kid }, claims, key),
    'alg twice': forge(`{"alg":"none","alg":"EdDSA","typ":"JWT","kid":"${header.kid}"}`, claims, key),
    'four parts': `${good}.${third}`,
    'two parts': `${first}.${second}`,
    padding: `${good}==`,
    'spare bits of the last character': `${good.slice(0, -1)}${spare}`,
    'claims changed': `${first}.${segment({ ...claims, sub: 'alice' })}.${third}`,
    'over 4 KiB': forge(header, { ...claims, more: 'x'.repeat(4096) }, key),
    'no JSON': forge(header, '{"sub":', key),
    'a list': forge(header, '[]', key),
  }
  for (const [name, token] of Object.entries(rows)) {
    const reply = await edge.ask([bearer(token)])
    t.equal(reply.status, 401, name)
    t.match(reply.headers['www-authenticate'], /Bearer error="invalid_token"/, name)
  }
})

t.test('claims that libraries accept are refused', async (t) => {
  const { edge, key, header, claims } = await start(t)
  const text = JSON.stringify(claims)
  const rows: Record<string, unknown> = {
    'exp 1e400': text.replace(/"exp":\d+/, '"exp":1e400'),
    'exp as text': { ...claims, exp: String(claims.exp) },
    'exp with a fraction': { ...claims, exp: claims.exp - 0.5 },
    'exp in the past': { ...claims, iat: claims.iat - 60, exp: claims.iat - 1 },
    'longer than the lifetime': { ...claims, exp: claims.exp + 1 },
    'iat in the future': { ...claims, iat: claims.iat + 30, exp: claims.iat + 60 },
    'nbf in the future': { ...claims, nbf: claims.iat + 30 },
    'issuer unknown': { ...claims, iss: 'unknown' },
    'issuer as a list': { ...claims, iss: ['manager-edge'] },
    'another audience': { ...claims, aud: 'other' },
    'audience with a number': { ...claims, aud: ['manager-edge', 1] },
    'sub as a list': { ...claims, sub: ['bob'] },
    'sub empty': { ...claims, sub: '' },
    'sub with a line feed': { ...claims, sub: 'bob\nalice' },
    'sub twice': text.replace('"sub":"bob"', '"sub":"alice","sub":"bob"'),
    'sub twice, once escaped': text.replace('"sub":"bob"', '"s\\u0075b":"alice","sub":"bob"'),
    'a prototype': text.replace('{', '{"__proto__":{"sub":"alice"},'),
    'a nested prototype': text.replace('{', '{"more":[{"__proto__":1}],'),
    'jti of another form': { ...claims, jti: randomUUID() },
    'jti with another time': { ...claims, jti: claims.jti.replace(/^\d+/, String(Date.now() + 5000)) },
    'user that does not exist': { ...claims, sub: 'mallory' },
  }
  for (const name of ['iss', 'aud', 'sub', 'iat', 'exp', 'jti']) rows[`no ${name}`] = { ...claims, [name]: undefined }
  for (const [name, changed] of Object.entries(rows)) {
    const reply = await edge.ask([bearer(forge(header, changed, key))])
    t.equal(reply.status, 401, name)
    t.match(reply.headers['www-authenticate'], /Bearer error="invalid_token"/, name)
  }
})

t.test('a token in the query, a cookie or a form is ignored', async (t) => {
  const { edge } = await start(t)
  const token = await tokenOf(edge, 'bob')
  const requests = [
    edge.ask([], `GET /who?access_token=${token}&token=${token}`),
    edge.ask([`Cookie: token=${token}; authorization=${token}`]),
    edge.ask([`X-Access-Token: ${token}`, `Proxy-Authorization: Bearer ${token}`]),
  ]
  for (const reply of await Promise.all(requests)) {
    t.equal(reply.status, 401)
    t.notMatch(reply.headers['www-authenticate'], 'invalid_token')
  }
})

t.test('tokens are issued for a password only, contain no permissions, and can be revoked by their user', async (t) => {
  const { edge } = await start(t)
  const token = await tokenOf(edge, 'bob')
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  t.same(Object.keys(claims).sort(), ['aud', 'exp', 'iat', 'iss', 'jti', 'sub'])
  t.match(JSON.parse((await edge.ask([bearer(token)])).text), { name: 'bob', permissions: ['*:read'], token: {} })
  t.equal((await edge.ask([bearer(token)], 'POST /security/user/authenticate')).status, 403)

  const other = await tokenOf(edge, 'alice')
  const revoked = await edge.ask([bearer(token)], 'DELETE /security/user/authenticate')
  t.match(JSON.parse(revoked.text), { error: 0, data: String })
  t.equal((await edge.ask([bearer(token)])).status, 401, 'revoked')
  t.equal((await edge.ask([bearer(other)])).status, 200, 'tokens of other users stay valid')
  const fresh = await tokenOf(edge, 'bob')
  t.equal((await edge.ask([bearer(fresh)])).status, 200, 'a new token is valid')
  await edge.ask([basic('bob', passwords.bob)], 'DELETE /security/user/authenticate')
  t.equal((await edge.ask([bearer(fresh)])).status, 401, 'revoked by password too')
})
